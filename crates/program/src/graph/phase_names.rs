//! Names of phases, derived from their source locations.

use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

use super::ProgramNode;

/// The name of a phase: its functions and lines if known, else its operations.
pub(super) fn phase<'a, 'b>(nodes: impl Iterator<Item = &'a ProgramNode>, site: impl Fn(u32) -> &'b CallSiteDefinition) -> String {
    let nodes: Vec<&ProgramNode> = nodes.collect();
    let frames: Vec<&SourceFrame> = nodes.iter().filter_map(|node| site(node.site).frames.first()).collect();
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

/// The line range, if all frames are in one file.
fn lines(frames: &[&SourceFrame]) -> Option<String> {
    let file = frames.first()?.file.as_deref()?;
    let one_file = frames.iter().all(|frame| frame.file.as_deref() == Some(file));
    let lines = || frames.iter().filter_map(|frame| frame.line);
    let (first, last) = lines().min().zip(lines().max()).filter(|_| one_file)?;
    let short = file.rsplit('/').next().unwrap_or(file);
    Some(if first == last { format!("{short}:{first}") } else { format!("{short}:{first}-{last}") })
}

#[cfg(test)]
mod tests {
    use super::super::NodeEffects;
    use super::*;
    use sintonia_mpi::FunctionId;

    fn name(frames: &[(&str, &str, u32)]) -> String {
        let frame = |(function, file, line): &(&str, &str, u32)| SourceFrame {
            function: (!function.is_empty()).then(|| function.to_string()),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: (*line > 0).then_some(*line),
        };
        let sites: Vec<CallSiteDefinition> =
            frames.iter().map(|f| CallSiteDefinition { frames: vec![frame(f)], ..CallSiteDefinition::default() }).collect();
        let operation = |name| FunctionId::from_name(name).unwrap();
        let operations = [operation("MPI_Init"), operation("MPI_Bcast"), operation("MPI_Finalize")];
        let nodes: Vec<ProgramNode> = (0..sites.len())
            .map(|site| ProgramNode { operation: operations[site], site: site as u32, effects: NodeEffects::default() })
            .collect();
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
