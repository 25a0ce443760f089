//! Names for pieces of a program, made from the places they lie between.

use sintonia_recording::header::{Frame, Site};

use super::Node;

/// The name of a phase: its functions and lines where they are known, else its operations.
pub fn phase<'a, 'b>(nodes: impl Iterator<Item = &'a Node>, site: impl Fn(u32) -> &'b Site) -> String {
    let nodes: Vec<&Node> = nodes.collect();
    let frames: Vec<&Frame> = nodes.iter().filter_map(|node| site(node.site).frames.first()).collect();
    let functions = from_to(frames.iter().filter_map(|frame| frame.function.as_deref()));
    let lines = lines(&frames);
    match (functions, lines) {
        (Some(functions), Some(lines)) => format!("{functions} ({lines})"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => from_to(nodes.iter().map(|node| node.operation.name())).unwrap_or_default(),
    }
}

/// The first and the last of some names.
fn from_to<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut different: Vec<&str> = Vec::new();
    names.for_each(|name| {
        if !different.contains(&name) {
            different.push(name)
        }
    });
    match &different[..] {
        [] => None,
        [only] => Some(only.to_string()),
        [first, second] => Some(format!("{first}, {second}")),
        [first, .., last] => Some(format!("{first} to {last}")),
    }
}

/// The lines, where all are of one file.
fn lines(frames: &[&Frame]) -> Option<String> {
    let file = frames.first()?.file.as_deref()?;
    let one_file = frames.iter().all(|frame| frame.file.as_deref() == Some(file));
    let lines = || frames.iter().filter_map(|frame| frame.line);
    let (first, last) = lines().min().zip(lines().max()).filter(|_| one_file)?;
    let short = file.rsplit('/').next().unwrap_or(file);
    Some(if first == last { format!("{short}:{first}") } else { format!("{short}:{first}-{last}") })
}

#[cfg(test)]
mod tests {
    use super::super::Outcome;
    use super::*;
    use sintonia_mpi::Operation;

    fn name(frames: &[(&str, &str, u32)]) -> String {
        let frame = |(function, file, line): &(&str, &str, u32)| Frame {
            function: (!function.is_empty()).then(|| function.to_string()),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: (*line > 0).then_some(*line),
        };
        let sites: Vec<Site> = frames.iter().map(|f| Site { frames: vec![frame(f)], ..Site::default() }).collect();
        let operation = |name| Operation::named(name).unwrap();
        let operations = [operation("MPI_Init"), operation("MPI_Bcast"), operation("MPI_Finalize")];
        let nodes: Vec<Node> =
            (0..sites.len()).map(|site| Node { operation: operations[site], site: site as u32, outcome: Outcome::default() }).collect();
        phase(nodes.iter(), |site| &sites[site as usize])
    }

    #[test]
    fn a_phase_is_called_by_its_functions_and_lines() {
        assert_eq!(name(&[("main", "/src/lu.c", 12), ("main", "/src/lu.c", 40)]), "main (lu.c:12-40)");
        assert_eq!(name(&[("main", "lu.c", 12), ("setup", "lu.c", 4), ("end", "lu.c", 4)]), "main to end (lu.c:4-12)");
        assert_eq!(name(&[("main", "lu.c", 12), ("setup", "io.c", 4)]), "main, setup");
        assert_eq!(name(&[("", "lu.c", 12)]), "lu.c:12");
        assert_eq!(name(&[("", "", 0), ("", "", 0), ("", "", 0)]), "MPI_Init to MPI_Finalize");
    }
}
