//! Cube files as Score-P writes them, and damaged ones.

use super::*;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// A call tree with `main` calling `init` and `solve`, which calls `MPI_Send`, on two threads.
const ANCHOR: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><metrics>
<metric id="0" type="EXCLUSIVE"><uniq_name>visits</uniq_name><dtype>UINT64</dtype><uom>occ</uom></metric>
<metric id="1" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric>
<metric id="2" type="EXCLUSIVE"><uniq_name>min_time</uniq_name><dtype>MINDOUBLE</dtype><uom>sec</uom></metric>
</metrics><program>
<region id="7"><name>main</name></region><region id="8"><name>solve</name></region>
<region id="9"><name>MPI_Send</name></region><region id="5"><name>init</name></region>
<cnode id="0" calleeId="7"><cnode id="1" calleeId="8"><cnode id="2" calleeId="9"/></cnode><cnode id="3" calleeId="5"/></cnode>
</program><system><systemtreenode Id="0"><locationgroup Id="0">
<location Id="0"/><location Id="1"/></locationgroup></systemtreenode></system></cube>
"#;

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in members {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        archive.extend(header);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn index(nodes: &[u32], is_little_endian: bool) -> Vec<u8> {
    let number = |value: u32| if is_little_endian { value.to_le_bytes() } else { value.to_be_bytes() };
    let head = [INDEX_MAGIC, &number(1), &[0, 0, 1], &number(nodes.len() as u32)].concat();
    [head, nodes.iter().flat_map(|node| number(*node)).collect()].concat()
}

const INDEX_MAGIC: &[u8] = b"CUBEX.INDEX";

fn plain(rows: &[[u64; 2]]) -> Vec<u8> {
    [b"CUBEX.DATA".to_vec(), rows.iter().flatten().flat_map(|value| value.to_be_bytes()).collect()].concat()
}

fn packed(rows: &[[f64; 2]]) -> Vec<u8> {
    let pack = |row: &[f64; 2]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        row.iter().for_each(|value| encoder.write_all(&value.to_le_bytes()).unwrap());
        encoder.finish().unwrap()
    };
    let segments: Vec<Vec<u8>> = rows.iter().map(pack).collect();
    let sizes = segments.iter().flat_map(|segment| [0, 0, segment.len() as u64]).flat_map(u64::to_le_bytes);
    [b"ZCUBEX.DATA".to_vec(), (rows.len() as u64).to_le_bytes().to_vec(), sizes.collect(), segments.concat()].concat()
}

/// The inclusive times of `main`, `solve`, `init` and `MPI_Send`, scaled, on two threads.
fn cubex(scale: f64) -> Vec<u8> {
    let times = [[10.0, 12.0], [8.0, 6.0], [1.0, 2.0], [3.0, 5.0]].map(|row| row.map(|value| scale * value));
    tar(&[
        ("1.index", index(&[0, 1, 2, 3], true)),
        ("1.data", packed(&times)),
        ("0.index", index(&[0, 2], false)),
        ("0.data", plain(&[[1, 1], [40, 20]])),
        ("2.index", index(&[0], true)),
        ("2.data", plain(&[[0, 0]])),
        ("anchor.xml", ANCHOR.into()),
    ])
}

/// Writes Cube files into folders with these names.
fn write(runs: &[(&str, Vec<u8>)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in runs {
        let run = folder.path().join(name);
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("profile.cubex"), bytes).unwrap();
        std::fs::write(run.join(".hidden.cubex"), "").unwrap();
    }
    let files = list_cube_files(&[folder.path().to_owned()]);
    (folder, files)
}

#[test]
fn each_call_path_has_its_own_time_over_the_settings() {
    let (folder, files) = write(&[("mm.n1p4.r1", cubex(1.0)), ("mm.n1p4.r2", cubex(1.5)), ("mm.n2p4.r1", cubex(2.0))]);
    assert!(is_cube_folder(folder.path()) && are_cube_files(&files) && files.len() == 3);
    let series: Vec<MeasurementSeries> = read_cube_files(&files, "time").unwrap().into_iter().map(Result::unwrap).collect();
    let found: Vec<(&str, f64)> = series.iter().map(|one| (one.region.as_str(), one.measurements.points()[0].values[0])).collect();
    assert_eq!(found, [("main", 2.5), ("main->init", 1.5), ("main->solve", 3.0), ("main->solve->MPI_Send", 4.0)], "means over the threads");
    let solve = &series[2];
    assert_eq!((solve.metric.as_str(), solve.unit.as_deref(), solve.measurements.parameters()), ("time", Some("s"), &["n".to_owned()][..]));
    let expected = [DataPoint { at: vec![1.0], values: vec![3.0, 4.5] }, DataPoint { at: vec![2.0], values: vec![6.0] }];
    assert_eq!(solve.measurements.points(), expected, "p is 4 in all of them");
}

#[test]
fn a_metric_without_values_of_callees_is_read_in_the_order_of_the_file() {
    let (_folder, files) = write(&[("n1", cubex(1.0)), ("n2", cubex(2.0))]);
    let series: Vec<MeasurementSeries> = read_cube_files(&files, "visits").unwrap().into_iter().map(Result::unwrap).collect();
    let found: Vec<(&str, f64)> = series.iter().map(|one| (one.region.as_str(), one.measurements.points()[0].values[0])).collect();
    assert_eq!(found, [("main", 1.0), ("main->solve->MPI_Send", 30.0)]);
    assert!(series[0].value_kind.is_exact());
}

#[test]
fn call_paths_that_a_setting_lacks_count_with_their_caller() {
    let times = |rows: &[(&str, f64)]| rows.iter().map(|(path, value)| (path.to_string(), *value)).collect::<CallPathValues>();
    let mut runs = vec![
        (vec![1.0], vec![times(&[("main", 1.0), ("main->a", 2.0), ("main->a->b", 3.0), ("main->a->b->c", 4.0)])]),
        (vec![2.0], vec![times(&[("main", 1.0), ("main->a", 2.0), ("main->d", 5.0)])]),
    ];
    merge_rare_call_paths(&mut runs);
    assert_eq!(runs[0].1, [times(&[("main", 1.0), ("main->a", 9.0)])]);
    assert_eq!(runs[1].1, [times(&[("main", 6.0), ("main->a", 2.0)])]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_position() {
    let refused = |name: &str, bytes: Vec<u8>, metric: &str| {
        let (folder, files) = write(&[("n1", cubex(1.0)), (name, bytes)]);
        let error = read_cube_files(&files, metric).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    };
    let changed = |from: &[u8], to: &[u8]| {
        let mut bytes = cubex(1.0);
        let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        bytes
    };
    assert_eq!(refused("n2", cubex(1.0), "tine"), "n1/profile.cubex: no metric `tine`; available: visits, time, min_time");
    assert_eq!(
        refused("n2", cubex(1.0), "min_time"),
        "n1/profile.cubex: `min_time` has the type MINDOUBLE, which is not supported (at byte 5632)"
    );
    assert_eq!(refused("n2", b"hello".to_vec(), "time"), "n2/profile.cubex: the file ends too early (at byte 5)");
    assert_eq!(refused("n2", tar(&[]), "time"), "n2/profile.cubex: no anchor.xml in this archive: it is no Cube file (at byte 0)");
    assert_eq!(
        refused("n2", changed(b"</region><region id=\"5\">", b"</regiox>"), "time").split(" (").next().unwrap(),
        "n2/profile.cubex: anchor.xml:8: expected 'region' tag, not 'regiox' at 8:37"
    );
    assert_eq!(
        refused("n2", changed(b"CUBEX.INDEX", b"CUBEX.INDUX"), "time"),
        "n2/profile.cubex: the index of a Cube file was expected here (at byte 512)"
    );
    assert_eq!(
        refused("n2", changed(&[0x78, 0x9c], &[0, 0]), "time"),
        "n2/profile.cubex: the compressed values are damaged (at byte 1651)"
    );
    assert_eq!(refused("m2", cubex(1.0), "time"), "n1/profile.cubex: the folder `n1` has the parameters n, but others have m");
    assert!(refused("run", cubex(1.0), "time").contains("the folder `run` does not say the parameters"));
    assert!(refused("n1.r2", cubex(1.0), "time").contains("all Cube files have the same parameters"));
}

#[test]
fn any_bytes_give_values_or_an_error() {
    use proptest::prelude::*;
    let whole = cubex(1.0);
    proptest!(|(place in 0..whole.len(), new in any::<u8>(), cut in 0..whole.len(), noise in prop::collection::vec(any::<u8>(), 0..600))| {
        let mut changed = whole.clone();
        changed[place] = new;
        let _ = profile::read_profile("c", changed, "time");
        let _ = profile::read_profile("c", whole[..cut].to_vec(), "visits");
        let _ = profile::read_profile("c", noise, "time");
    });
}
