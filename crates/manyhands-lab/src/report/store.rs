//! The files of a run: raw blocks as CSV, the summary as JSON.
//!
//! Every block is written and flushed before the next one starts, and the summary is replaced
//! as a whole after each section, so an interrupted run keeps what it has measured.

use super::summary;
use crate::{LabError, Measurement, machine::Machine, tour::Section};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Raw measurements: one line per arm and block.
pub const RAW_FILE: &str = "blocks.csv";
/// Medians, ratios, sides and the break-even.
pub const SUMMARY_FILE: &str = "summary.json";

/// Where results come from; stands in every summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Machine.
    pub machine: Machine,
    /// Seed of the orders and the bootstrap.
    pub seed: u64,
}

/// An output folder being written.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    raw: csv::Writer<File>,
    provenance: Provenance,
}

impl Store {
    /// Makes the folder if needed and starts the raw file. Files of an earlier run with the
    /// same names are replaced, its summary is removed at once.
    ///
    /// # Errors
    /// [`LabError::File`] if the folder or the file cannot be written.
    pub fn create(folder: &Path, provenance: Provenance) -> Result<Self, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
        remove_if_there(&folder.join(SUMMARY_FILE))?;
        let path = folder.join(RAW_FILE);
        let file = File::create(&path).map_err(LabError::file("create", &path))?;
        let mut store = Self {
            folder: folder.to_owned(),
            raw: csv::Writer::from_writer(file),
            provenance,
        };
        store.write_raw(&COLUMNS.map(str::to_owned))?;
        store.flush()?;
        Ok(store)
    }

    /// Appends the last block of a measurement.
    ///
    /// # Errors
    /// [`LabError::File`] if it cannot be written.
    pub fn append_block(&mut self, measurement: &Measurement) -> Result<(), LabError> {
        let Some(block) = measurement.blocks.last() else {
            return Ok(());
        };
        for (position, arm) in block.order.iter().enumerate() {
            self.write_raw(&[
                measurement.experiment.clone(),
                measurement.case.clone(),
                measurement.n.to_string(),
                measurement.blocks.len().to_string(),
                (position + 1).to_string(),
                measurement.arms[*arm].clone(),
                block.calls.to_string(),
                format!("{:.3}", block.nanos[*arm]),
                format!("{:016x}", block.checksum),
            ])?;
        }
        self.flush()
    }

    /// Replaces the summary by one of these sections.
    ///
    /// # Errors
    /// [`LabError::File`] if it cannot be written.
    pub fn write_summary(&self, sections: &[Section]) -> Result<(), LabError> {
        let text = summary::to_json(&self.provenance, sections);
        self.replace(SUMMARY_FILE, text.as_bytes())?;
        Ok(())
    }

    /// Writes a file of the folder so that it is either the old one or the whole new one, and
    /// gives its path.
    ///
    /// # Errors
    /// [`LabError::File`] if it cannot be written.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<PathBuf, LabError> {
        let path = self.folder.join(name);
        let unfinished = self.folder.join(format!("{name}.unfinished"));
        fs::write(&unfinished, content).map_err(LabError::file("write", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(LabError::file("write", &path))?;
        Ok(path)
    }

    /// Removes a file of an earlier run, so that it is not taken for one of this run.
    ///
    /// # Errors
    /// [`LabError::File`] if it is there and cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), LabError> {
        remove_if_there(&self.folder.join(name))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn write_raw(&mut self, record: &[String; COLUMNS.len()]) -> Result<(), LabError> {
        let written = self.raw.write_record(record).map_err(io::Error::from);
        written.map_err(LabError::file("write", self.folder.join(RAW_FILE)))
    }

    fn flush(&mut self) -> Result<(), LabError> {
        let flushed = self.raw.flush();
        flushed.map_err(LabError::file("write", self.folder.join(RAW_FILE)))
    }
}

fn remove_if_there(path: &Path) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

const COLUMNS: [&str; 9] = [
    "experiment",
    "case",
    "n",
    "block",
    "position",
    "arm",
    "calls",
    "nanos_per_call",
    "checksum",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, break_even::BreakEven, verdict::Rule};

    fn provenance() -> Provenance {
        Provenance {
            machine: Machine::here(),
            seed: 5,
        }
    }

    fn measurement() -> Measurement {
        Measurement {
            experiment: "E3".into(),
            case: "SHA-512, quoted".into(),
            n: 10,
            arms: vec!["sequential".into(), "for_each".into()],
            blocks: vec![Block {
                calls: 4,
                order: vec![1, 0],
                nanos: vec![20.0, 10.0],
                checksum: 255,
            }],
        }
    }

    #[test]
    fn a_block_is_on_disk_before_the_store_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), provenance()).unwrap();
        store.append_block(&measurement()).unwrap();

        let mut reader = csv::Reader::from_path(folder.path().join(RAW_FILE)).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        let first: Vec<&str> = rows[0].iter().collect();
        let expected = [
            "E3",
            "SHA-512, quoted",
            "10",
            "1",
            "1",
            "for_each",
            "4",
            "10.000",
            "00000000000000ff",
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn the_summary_is_json_with_ratio_side_and_break_even() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), provenance()).unwrap();
        let section = Section {
            id: "E3".into(),
            title: "t".into(),
            measurements: vec![measurement()],
            rule: Rule::SINGLE,
            break_even: Some(BreakEven::Between {
                lower: 3,
                upper: 10,
            }),
            left_out: vec![("SHA-512".into(), 100)],
        };
        store.write_summary(&[section]).unwrap();
        let text = fs::read_to_string(folder.path().join(SUMMARY_FILE)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["seed"], 5);
        let section = &json["sections"][0];
        assert_eq!(section["break_even"]["kind"], "between");
        assert_eq!(section["break_even"]["upper"], 10);
        assert_eq!(section["measurements"][0]["side"], "undecided");
        let speed_up = section["measurements"][0]["speed_up"]["median"].as_f64();
        assert!((speed_up.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(section["left_out"][0]["n"], 100);
    }

    #[test]
    fn a_new_run_does_not_keep_an_old_summary() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join(SUMMARY_FILE);
        fs::write(&old, "{}").unwrap();
        Store::create(folder.path(), provenance()).unwrap();
        assert!(!old.exists());
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("taken");
        fs::write(&file, "").unwrap();
        let error = Store::create(&file, provenance()).unwrap_err().to_string();
        assert!(error.contains("taken"), "{error}");
    }
}
