//! Blocks whose samples come from several processes.

use super::ChildError;
use crate::child::Taken;

/// One block of samples that were taken one by one, by place; they must have one checksum.
pub(super) fn gathered(mut taken: Vec<(usize, Taken)>) -> Result<Taken, ChildError> {
    taken.sort_unstable_by_key(|(place, _)| *place);
    let mut all = taken.into_iter().map(|(_, taken)| taken);
    let Some(mut block) = all.next() else {
        return Err(nonsense("a block without samples"));
    };
    for taken in all {
        if taken.checksum != block.checksum {
            return Err(ChildError::Failed {
                message: format!(
                    "two processes have different results (checksums {} and {})",
                    block.checksum, taken.checksum
                ),
            });
        }
        block.samples.extend(taken.samples);
    }
    Ok(block)
}

fn nonsense(said: &str) -> ChildError {
    let said = said.to_owned();
    ChildError::Nonsense { said }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Meters, Sample};

    fn taken(wall_nanos: u64, checksum: &str) -> Taken {
        let sample = Sample {
            calls: 1,
            wall_nanos,
            meters: Meters::default(),
        };
        Taken {
            samples: vec![sample],
            checksum: checksum.to_owned(),
        }
    }

    #[test]
    fn samples_are_put_in_the_order_of_their_places() {
        let all = vec![
            (2, taken(30, "a")),
            (0, taken(10, "a")),
            (1, taken(20, "a")),
        ];
        let block = gathered(all).unwrap();
        let walls: Vec<u64> = block.samples.iter().map(|one| one.wall_nanos).collect();
        assert_eq!(walls, [10, 20, 30]);
        assert_eq!(block.checksum, "a");
    }

    #[test]
    fn processes_with_different_results_are_no_block() {
        let error = gathered(vec![(0, taken(1, "a")), (1, taken(1, "b"))]).unwrap_err();
        assert!(error.to_string().contains("checksums a and b"), "{error}");
        assert!(gathered(Vec::new()).is_err());
    }
}
