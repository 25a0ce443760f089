//! Experiments as Extra-P saves them, and damaged ones.

use super::*;
use crate::measurements::DataPoint;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

const SAVED: &str = r#"{"Extra-P": "4.2.5", "scaling": null, "parameters": ["x"], "measurements": {"main->a": {"time": [
    {"coordinate": [4], "median": 9.0, "mean": 2.5, "minimum": 2, "maximum": 9, "std": 0.5, "repetitions": 5},
    {"coordinate": [8.0], "median": 5.0, "mean": "1/4", "minimum": 5, "maximum": 5, "std": "nan"}]}}, "modelers": []}"#;

/// A ZIP archive; every second member is compressed.
fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (number, (name, content)) in members.iter().enumerate() {
        let mut checksum = flate2::Crc::new();
        checksum.update(content);
        let (method, packed) = match number % 2 {
            0 => (8_u16, deflate(content)),
            _ => (0, content.clone()),
        };
        let sizes = [checksum.sum(), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let name_length = (name.len() as u16).to_le_bytes();
        let offset = (archive.len() as u32).to_le_bytes();
        let common = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0; 4], &sizes, &name_length, &[0; 2]].concat();
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &offset, name.as_bytes()].concat());
        archive.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let place = [directory.len() as u32, archive.len() as u32].map(u32::to_le_bytes).concat();
    [archive, directory, b"PK\x05\x06\0\0\0\0".to_vec(), count.into(), count.into(), place, vec![0, 0]].concat()
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn array(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    let values = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [b"\x93NUMPY\x01\x00".to_vec(), length.into(), header.into(), values].concat()
}

#[test]
fn the_mean_of_each_measurement_is_read() {
    let archive = zip(&[("experiment.json", SAVED.into())]);
    let series = read("t.extra-p", &archive).unwrap().remove(0).unwrap();
    assert_eq!(
        (series.region.as_str(), series.metric.as_str(), series.measurements.parameters()),
        ("main->a", "time", &["x".to_owned()][..])
    );
    let expected = [DataPoint { at: vec![4.0], values: vec![2.5] }, DataPoint { at: vec![8.0], values: vec![0.25] }];
    assert_eq!(series.measurements.points(), expected);
}

#[test]
fn single_values_are_read_where_they_were_kept() {
    let saved = SAVED.replace("\"repetitions\": 5", "\"repetitions\": 2, \"values\": [0, 1]").replace("\"nan\"", "0, \"values\": [0, 0]");
    let (first, second) = (array("(3,)", &[5.0, 6.0, 7.0]), array("(2, 2)", &[1.0, 3.0, 4.0, 5.0]));
    let magic = b"Extra-P VALUES\0\0".to_vec();
    let positions = [2_u64, magic.len() as u64, (magic.len() + first.len()) as u64].map(u64::to_le_bytes).concat();
    let members = [
        ("values/0.vals", [magic, first, second].concat()),
        ("values/0.indx", [INDEX_MAGIC.to_vec(), positions].concat()),
        ("experiment.json", saved.into_bytes()),
    ];
    let series = read("t.extra-p", &zip(&members)).unwrap().remove(0).unwrap();
    let expected = [DataPoint { at: vec![4.0], values: vec![2.0, 4.5] }, DataPoint { at: vec![8.0], values: vec![5.0, 6.0, 7.0] }];
    assert_eq!(series.measurements.points(), expected, "of several processes the mean");
    let error = read("t.extra-p", &zip(&members[2..])).unwrap_err().to_string();
    assert_eq!(error, "t.extra-p: no values/0.indx in this archive (at byte 0)");
}

#[test]
fn what_cannot_be_read_is_told_with_its_position() {
    let error = |members: &[(&str, Vec<u8>)]| read("t.extra-p", &zip(members)).unwrap_err().to_string();
    assert_eq!(error(&[("a", vec![1])]), "t.extra-p: no experiment.json in this archive: it is no experiment of Extra-P (at byte 0)");
    let broken = SAVED.replace("\"mean\": 2.5, ", "");
    assert_eq!(error(&[("experiment.json", broken.into())]), "t.extra-p: experiment.json:2: missing field `mean` (column 96)");
    assert_eq!(error(&[("experiment.json", vec![b'{', 0xff])]), "t.extra-p: experiment.json: invalid UTF-8 (at byte 1)");
    let mut damaged = zip(&[("experiment.json", SAVED.into())]);
    damaged[60] ^= 0xff;
    assert_eq!(read("t.extra-p", &damaged).unwrap_err().to_string(), "t.extra-p: this member of the archive is damaged (at byte 45)");
    assert_eq!(
        read("t.extra-p", b"PK\x03\x04").unwrap_err().to_string(),
        "t.extra-p: this is not a ZIP archive, or its end is missing (at byte 4)"
    );
}

#[test]
fn any_bytes_give_measurements_or_an_error() {
    use proptest::prelude::*;
    let whole = zip(&[("values/0.vals", array("(1,)", &[2.0])), ("experiment.json", SAVED.into())]);
    let array = array("(2, 2)", &[1.0, 3.0, 4.0, 5.0]);
    proptest!(|(place in 0..whole.len(), new in any::<u8>(), cut in 0..whole.len(), noise in prop::collection::vec(any::<u8>(), 0..200),
                inside in 0..array.len())| {
        let mut changed = whole.clone();
        changed[place] = new;
        let _ = read("t", &changed);
        let _ = read("t", &whole[cut..]);
        let _ = read("t", &noise);
        let mut changed = array.clone();
        changed[inside] = new;
        let _ = npy::read_repetitions(&changed);
    });
}
