//! Accepted table formats, and errors in them.

use super::*;
use crate::measurements::{DataPoint, ParameterKind};

fn columns(parameters: &[&str], value: &str, unit: Option<&str>) -> TableColumns {
    let parameters = parameters.iter().map(|p| p.to_string()).collect();
    TableColumns { parameters, value: value.into(), unit: unit.map(str::to_owned), kinds: Vec::new() }
}

/// All series of a file, or its first error.
fn read_extrap(name: &str, text: &str) -> Result<Vec<MeasurementSeries>, TableError> {
    read_extrap_series(name, text)?.into_iter().map(|read| read.map_err(|refused| *refused.error)).collect()
}

fn point(at: &[f64], values: &[f64]) -> DataPoint {
    DataPoint { at: at.to_vec(), values: values.to_vec() }
}

fn csv_error(text: &str) -> (Option<usize>, TableProblem) {
    let error = read_csv("t.csv", text, &columns(&["n"], "send", None)).unwrap_err();
    (error.line, error.problem)
}

#[test]
fn a_table_is_read_by_its_header_and_times_become_seconds() {
    let text = "# made by hand\nn, send [us], note\n8, 2.5, \"a, b\"\n16, 4,\n\n8, 3.5, x\n";
    let series = read_csv("t.csv", text, &columns(&["n"], "send", None)).unwrap();
    assert_eq!(series.unit.as_deref(), Some("s"));
    let points = series.measurements.points();
    assert_eq!(points.len(), 2);
    assert!((points[0].values[0] - 2.5e-6).abs() < 1e-18 && (points[0].values[1] - 3.5e-6).abs() < 1e-18);
    let tabs = read_csv("t.csv", "n\tp\tt\n1\t2\t3\n", &columns(&["p", "n"], "t", Some("ms"))).unwrap();
    assert_eq!(tabs.measurements.points(), &[point(&[2.0, 1.0], &[0.003])]);
}

#[test]
fn mistakes_in_a_table_are_told_with_their_line() {
    assert_eq!(csv_error(""), (None, TableProblem::Empty));
    assert_eq!(csv_error("n,send [s]\n"), (None, TableProblem::Empty));
    assert_eq!(csv_error("n,send\n1,2\n"), (Some(1), TableProblem::MissingUnit { column: "send".into() }));
    assert_eq!(csv_error("n,n\n1,2\n"), (Some(1), TableProblem::DuplicateColumn("n".into())));
    assert!(matches!(csv_error("m,send [s]\n1,2\n"), (Some(1), TableProblem::NoColumn { .. })));
    assert_eq!(csv_error("n,send [s]\n1,2\n3\n"), (Some(3), TableProblem::CellCount { have: 1, need: 2 }));
    assert_eq!(csv_error("n,send [s]\n1,two\n"), (Some(2), TableProblem::NotANumber("two".into())));
    assert_eq!(csv_error("n,send [s]\n1,nan\n"), (Some(2), TableProblem::NotANumber("nan".into())));
    assert_eq!(csv_error("n,send [s]\n1,-2\n"), (Some(2), TableProblem::NotPositive { what: "send".into(), value: -2.0 }));
    assert_eq!(csv_error("n,send [s]\n1,\"2\n"), (Some(2), TableProblem::UnclosedQuote));
}

#[test]
fn an_error_reads_as_file_line_and_reason() {
    let error = read_csv("t.csv", "n,send [s]\n1,0\n", &columns(&["n"], "send", None)).unwrap_err();
    assert_eq!(error.to_string(), "t.csv:2: send is 0: it must be greater than zero");
}

#[test]
fn decimal_commas_are_read_where_semicolons_separate_cells() {
    let series = read_csv("t.csv", "n;send [s]\n1,5;2,25\n2;3.5\n", &columns(&["n"], "send", None)).unwrap();
    assert_eq!(series.measurements.points(), &[point(&[1.5], &[2.25]), point(&[2.0], &[3.5])]);
    let error = read_csv("t.csv", "n;send [s]\n1.000,5;2\n", &columns(&["n"], "send", None)).unwrap_err();
    assert_eq!((error.line, error.problem), (Some(2), TableProblem::NotANumber("1.000,5".into())));
}

#[test]
fn a_unit_is_given_once() {
    let read = |header: &str, unit: Option<&str>| read_csv("t.csv", &format!("n,{header}\n1,2\n"), &columns(&["n"], "send", unit));
    assert!(read("send [us]", Some("us")).is_ok() && read("send [s]", Some("seconds")).is_ok() && read("send", Some("ms")).is_ok());
    let error = read("send [us]", Some("ms")).unwrap_err();
    let said = "t.csv:1: the header says `send [us]`, so the unit of `send` cannot be `ms`: leave `--unit` out, or correct the header";
    assert_eq!(error.to_string(), said);
}

#[test]
fn what_columns_are_follows_from_options_headers_and_names() {
    use QuantityKind::{Bytes, Count, Processes, Size, Time, Unknown};
    let text = "n [size],np,bytes,x,calls [count],t [time]\n1,2,3,4,5,6\n";
    let read = |value: &str, kinds: &[(&str, QuantityKind)]| {
        let kinds = kinds.iter().map(|(name, kind)| (name.to_string(), *kind)).collect();
        read_csv("t.csv", text, &TableColumns { kinds, ..columns(&["n", "np", "x"], value, None) })
    };
    let series = read("calls", &[]).unwrap();
    assert_eq!((series.parameter_kinds, series.value_kind), (vec![Size, Processes, Unknown], Count));
    let series = read("bytes", &[("x", Time), ("np", Unknown), ("bytes", Bytes)]).unwrap();
    assert_eq!(
        (series.parameter_kinds.as_slice(), series.value_kind, series.unit.as_deref()),
        (&[Size, Unknown, Time][..], Bytes, Some("bytes"))
    );
    let kinds = [ParameterKind::Size, ParameterKind::Unknown, ParameterKind::Size];
    assert_eq!(series.measurements.parameter_kinds()[..3], kinds);
    assert_eq!(read("t", &[]).unwrap_err().problem, TableProblem::MissingUnit { column: "t".into() });
    assert_eq!(read("bytes", &[]).unwrap_err().problem, TableProblem::MissingUnit { column: "bytes".into() });
}

const TEXT: &str = "PARAMETER p n\n# two points\nPOINTS ( 32 5000 ) ( 64 5000 )\nPOINTS (32 6000)\nMETRIC time\nREGION main\nDATA 1 2\nDATA 3\nDATA 4 5\n\
                    REGION main->loop\nDATA 6\nDATA 7\nDATA 8\n";

#[test]
fn extra_p_text_gives_a_series_for_each_region() {
    let series = read_extrap("t.txt", TEXT).unwrap();
    assert_eq!(series.iter().map(|s| s.region.as_str()).collect::<Vec<_>>(), ["main", "main->loop"]);
    assert_eq!(series[0].metric, "time");
    assert_eq!(series[0].measurements.parameters(), ["p", "n"]);
    let expected = [point(&[32.0, 5000.0], &[1.0, 2.0]), point(&[32.0, 6000.0], &[4.0, 5.0]), point(&[64.0, 5000.0], &[3.0])];
    assert_eq!(series[0].measurements.points(), expected);
    let one = read_extrap("t.txt", "PARAMETER x\nPOINTS 20 30\nDATA 1\nDATA 2\n").unwrap();
    assert_eq!(one[0].measurements.points(), [point(&[20.0], &[1.0]), point(&[30.0], &[2.0])]);
}

#[test]
fn a_value_that_cannot_be_used_refuses_its_own_region_only() {
    let zero = TEXT.replace("DATA 7", "DATA 0 7").replace("DATA 8", "DATA nan");
    let regions = read_extrap_series("t.txt", &zero).unwrap();
    assert_eq!(regions[0].as_ref().unwrap().region, "main");
    let refused = regions[1].as_ref().unwrap_err();
    assert_eq!(refused.to_string(), "`time` of `main->loop`: t.txt:12: a value is 0: it must be greater than zero");
    assert_eq!(read_extrap("t.txt", &zero).unwrap_err().line, Some(12));

    let line = |region: &str, value: &str| format!("{{\"params\": {{\"p\": 2}}, \"callpath\": \"{region}\", \"value\": {value}}}\n");
    let regions = read_extrap_series("t.jsonl", &(line("a", "1") + &line("b", "-1") + &line("b", "0"))).unwrap();
    assert!(regions[0].is_ok());
    assert_eq!(regions[1].as_ref().unwrap_err().error.line, Some(2));

    let document =
        r#"{"parameters": ["x"], "measurements": {"a": {"t": [{"point": 2, "values": 1}]}, "b": {"t": [{"point": 2, "values": 0}]}}}"#;
    let regions = read_extrap_series("t.json", document).unwrap();
    assert!(regions[0].is_ok() && regions[1].is_err());
}

#[test]
fn points_with_something_between_their_parentheses_are_no_points() {
    for points in ["(1 2) 3 (3 4)", "(1 2) (3 4", "1 (1 2)", "(1 2) 5"] {
        let error = read_extrap("t.txt", &format!("PARAMETER x y\nPOINTS {points}\n")).unwrap_err();
        assert_eq!((error.line, error.problem), (Some(2), TableProblem::BadParentheses), "{points}");
    }
}

#[test]
fn a_mark_before_the_text_and_quotes_around_numbers_do_not_matter() {
    let series = read_csv("t.csv", "\u{feff}n,send [s]\n\"8\", \"2.5\"\n", &columns(&["n"], "send", None)).unwrap();
    assert_eq!(series.measurements.points(), &[point(&[8.0], &[2.5])]);
    assert!(read_extrap("t.txt", &format!("\u{feff}{TEXT}")).is_ok());
}

#[test]
fn a_region_may_be_called_like_a_word_of_another_format() {
    for name in ["params", "callpaths"] {
        let text = format!("{{\"parameters\": [\"x\"], \"measurements\": {{\"{name}\": {{\"t\": [{{\"point\": 2, \"values\": 1}}]}}}}}}");
        assert_eq!(read_extrap("t.json", &text).unwrap()[0].region, name);
    }
}

#[test]
fn mistakes_in_extra_p_text_are_told_with_their_line() {
    let error = |text: &str| {
        let error = read_extrap("t.txt", text).unwrap_err();
        (error.line, error.problem)
    };
    assert_eq!(error("HELLO\n"), (Some(1), TableProblem::UnknownKeyword("HELLO".into())));
    assert_eq!(error("POINTS 1 2\n"), (Some(1), TableProblem::OutOfOrder { what: "POINTS", after: "PARAMETER" }));
    assert_eq!(error("PARAMETER x\nDATA 1\n"), (Some(2), TableProblem::OutOfOrder { what: "DATA", after: "POINTS" }));
    assert_eq!(error("PARAMETER x y\nPOINTS (1 2) (3)\n"), (Some(2), TableProblem::Dimensions { have: 1, need: 2 }));
    assert_eq!(
        error("PARAMETER x\nPOINTS 1\nDATA 1\nDATA 2\n"),
        (Some(4), TableProblem::DataLines { have: 2, need: 1, region: "".into() })
    );
    assert_eq!(
        error("PARAMETER x\nPOINTS 1 2\nREGION r\nDATA 1\n"),
        (Some(4), TableProblem::DataLines { have: 1, need: 2, region: "r".into() })
    );
    assert_eq!(error("PARAMETER x\nPOINTS 1\nDATA zero\n"), (Some(3), TableProblem::NotANumber("zero".into())));
    assert!(matches!(error("PARAMETER x\nPOINTS 1\nDATA 0\n"), (Some(3), TableProblem::NotPositive { .. })));
    assert_eq!(error("\n"), (None, TableProblem::Empty));
}

#[test]
fn extra_p_documents_of_both_kinds_are_read() {
    let new =
        r#"{"parameters": ["x"], "measurements": {"main": {"time": [{"point": [2], "values": [1, 1.5]}, {"point": 4, "values": 3}]}}}"#;
    let old = r#"{"parameters": [{"id": 1, "name": "x"}], "callpaths": [{"id": 1, "name": "main"}], "metrics": [{"id": 1, "name": "time"}],
        "coordinates": [{"id": 1, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": "2"}]},
                        {"id": 2, "parameter_value_pairs": [{"parameter_id": 1, "parameter_value": "4"}]}],
        "measurements": [{"coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": 1},
                         {"coordinate_id": 1, "callpath_id": 1, "metric_id": 1, "value": "1.5"},
                         {"coordinate_id": 2, "callpath_id": 1, "metric_id": 1, "value": 3}]}"#;
    for text in [new, old] {
        let series = read_extrap("t.json", text).unwrap();
        assert_eq!((series[0].region.as_str(), series[0].metric.as_str()), ("main", "time"));
        assert_eq!(series[0].measurements.points(), [point(&[2.0], &[1.0, 1.5]), point(&[4.0], &[3.0])]);
    }
}

#[test]
fn json_lines_are_put_together_by_region_metric_and_point() {
    let text = "{\"params\": {\"p\": 2}, \"metric\": \"t\", \"value\": 1}\n\n{\"params\": {\"p\": 2}, \"metric\": \"t\", \"value\": 2}\n";
    let series = read_extrap("t.jsonl", text).unwrap();
    assert_eq!(series[0].measurements.points(), [point(&[2.0], &[1.0, 2.0])]);
    let wrong = read_extrap("t.jsonl", "{\"params\": {\"p\": 2}, \"value\": 1}\n{\"params\": {\"p\": 2}, \"value\": \"x\"}\n").unwrap_err();
    assert_eq!(wrong.line, Some(2));
    let line = |value: i32| format!("{{\"params\": {{\"p\": 2}}, \"value\": {value}}}\n");
    let negative = read_extrap("t.jsonl", &format!("{}\n{}{}", line(1), line(-1), line(-2))).unwrap_err();
    assert_eq!((negative.line, negative.problem), (Some(3), TableProblem::NotPositive { what: "a number".into(), value: -1.0 }));
    let other = read_extrap("t.jsonl", "{\"params\": {\"p\": 2}, \"value\": 1}\n{\"params\": {\"n\": 2}, \"value\": 1}\n").unwrap_err();
    assert_eq!(other.to_string(), "t.jsonl:2: the parameters are `n`, but those of the first line are `p`");
}

#[test]
fn broken_json_is_told_with_its_line() {
    let error = read_extrap("t.json", "{\"parameters\": [\"x\"],\n \"measurements\": 5}").unwrap_err();
    assert_eq!(error.line, Some(2), "{error}");
    assert!(read_extrap("t.json", "{").is_err());
    assert!(read_extrap("t.json", "{}").is_err());
}

#[test]
fn any_text_gives_a_table_or_an_error() {
    use proptest::prelude::*;
    let pieces = prop::sample::select(vec![
        "PARAMETER",
        "POINTS",
        "DATA",
        "REGION",
        "(",
        ")",
        " ",
        "\n",
        "1",
        "-0",
        "1e999",
        "nan",
        "{",
        "}",
        "\"params\"",
        ":",
        ",",
        "\"",
        "é",
        "[us]",
        "n",
        "\r\n",
    ]);
    let text = prop::collection::vec(pieces, 0..40).prop_map(|p| p.concat());
    proptest!(|(text in prop_oneof![text, ".{0,80}"])| {
        let _ = read_extrap("t", &text);
        let _ = read_csv("t", &text, &columns(&["n"], "n", Some("s")));
    });
}
