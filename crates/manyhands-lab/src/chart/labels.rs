//! Places for texts at the ends of lines.

/// Moves rows, ascending, as little as possible so that neighbours are a gap apart and all lie
/// between two limits; if there is no room for that, the last ones overlap the lower limit.
pub(super) fn apart(rows: &[i32], gap: i32, limits: (i32, i32)) -> Vec<i32> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let mut group = Group { sum: *row, len: 1 };
        // A group that touches the one above it becomes part of it.
        while let Some(above) = groups.last() {
            if above.bottom(gap) + gap <= group.top(gap) {
                break;
            }
            group.sum += above.sum;
            group.len += above.len;
            groups.pop();
        }
        groups.push(group);
    }
    let mut placed: Vec<i32> = groups.iter().flat_map(|group| group.rows(gap)).collect();
    push_within(&mut placed, gap, limits);
    placed
}

/// Neighbours that had to be moved; they keep their mean.
struct Group {
    sum: i32,
    len: i32,
}

impl Group {
    fn top(&self, gap: i32) -> i32 {
        self.sum / self.len - (self.len - 1) * gap / 2
    }

    fn bottom(&self, gap: i32) -> i32 {
        self.top(gap) + (self.len - 1) * gap
    }

    fn rows(&self, gap: i32) -> impl Iterator<Item = i32> + use<> {
        let top = self.top(gap);
        (0..self.len).map(move |index| top + index * gap)
    }
}

fn push_within(rows: &mut [i32], gap: i32, (top, bottom): (i32, i32)) {
    let mut lowest = bottom;
    for row in rows.iter_mut().rev() {
        *row = (*row).min(lowest);
        lowest = *row - gap;
    }
    let mut highest = top;
    for row in rows {
        *row = (*row).max(highest);
        highest = *row + gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_far_apart_stay_and_close_ones_keep_their_mean() {
        let free = (-1_000, 1_000);
        assert_eq!(apart(&[0, 100], 16, free), [0, 100]);
        assert_eq!(apart(&[100, 100], 16, free), [92, 108]);
        assert_eq!(apart(&[100, 101, 102], 16, free), [85, 101, 117]);
    }

    #[test]
    fn groups_that_grow_into_each_other_are_joined() {
        let rows = apart(&[100, 100, 112, 112, 300], 16, (-1_000, 1_000));
        assert!(
            rows.windows(2).all(|pair| pair[1] - pair[0] >= 16),
            "{rows:?}"
        );
        assert_eq!(rows[4], 300);
    }

    #[test]
    fn rows_stay_between_the_limits() {
        assert_eq!(apart(&[0, 0, 0], 10, (0, 100)), [0, 10, 20]);
        assert_eq!(apart(&[100, 100], 10, (0, 100)), [90, 100]);
    }
}
