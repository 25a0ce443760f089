//! Names of phases, derived from their source locations.

use sintonia_recording::header::{CallSiteDefinition, SourceFrame};
use sintonia_text::function_name::short_function_name;

use super::{ProgramNode, call_frames};

/// The name of a phase: what its function calls there and its lines if known, else its operations.
pub(super) fn phase<'a, 'b>(nodes: impl Iterator<Item = &'a ProgramNode>, site: impl Fn(u32) -> &'b CallSiteDefinition) -> String {
    let nodes: Vec<&ProgramNode> = nodes.collect();
    let paths: Vec<Vec<&SourceFrame>> = nodes.iter().map(|node| call_frames(node.site, &site)).filter(|path| !path.is_empty()).collect();
    let (called, around) = divergent_frames(&paths);
    let functions: Vec<String> = called.iter().filter_map(|frame| frame.function.as_deref()).map(short_function_name).collect();
    let functions = from_to(functions.iter().map(String::as_str));
    match (functions, lines(&around)) {
        (Some(functions), Some(lines)) => format!("{functions} ({lines})"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => from_to(nodes.iter().map(|node| node.operation.name())).unwrap_or_default(),
    }
}

/// Where paths differ: the frames of the functions that are called there, and those of the lines. If all differ in one function, these are the
/// functions that it calls, and its own lines.
fn divergent_frames<'b>(paths: &[Vec<&'b SourceFrame>]) -> (Vec<&'b SourceFrame>, Vec<&'b SourceFrame>) {
    let Some(first) = paths.first() else { return (Vec::new(), Vec::new()) };
    let is_common = |depth: &usize| paths.iter().all(|path| path.get(*depth) == first.get(*depth));
    let depth = (0..first.len()).take_while(is_common).count();
    let at = |path: &Vec<&'b SourceFrame>, depth: usize| path[depth.min(path.len() - 1)];
    let around: Vec<&SourceFrame> = paths.iter().map(|path| at(path, depth)).collect();
    let is_one_function = around.iter().all(|frame| frame.function == around[0].function);
    let called = paths.iter().map(|path| at(path, if is_one_function { depth + 1 } else { depth })).collect();
    (called, around)
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

    /// The name of a phase with these paths, each given by its functions and lines, outermost first.
    fn name_of_paths(paths: &[&[(&str, u32)]]) -> String {
        let mut sites: Vec<CallSiteDefinition> = Vec::new();
        let mut leaves = Vec::new();
        for path in paths {
            let mut caller = None;
            for (function, line) in *path {
                let frame = SourceFrame { function: Some((*function).into()), file: Some(format!("{function}.c")), line: Some(*line) };
                sites.push(CallSiteDefinition { frames: vec![frame], caller, ..CallSiteDefinition::default() });
                caller = Some(sites.len() as u32 - 1);
            }
            leaves.extend(caller);
        }
        let operation = FunctionId::from_name("MPI_Bcast").unwrap();
        let nodes: Vec<ProgramNode> =
            leaves.iter().map(|site| ProgramNode { operation, site: *site, effects: NodeEffects::default() }).collect();
        phase(nodes.iter(), |site| &sites[site as usize])
    }

    #[test]
    fn with_call_paths_a_phase_is_called_by_what_its_function_calls() {
        let step: &[_] = &[("main", 20), ("step", 5), ("halo", 9), ("wrapper", 1)];
        let sum: &[_] = &[("main", 24), ("wrapper", 2)];
        assert_eq!(name_of_paths(&[step, sum]), "step, wrapper (main.c:20-24)");
        let left: &[_] = &[("main", 20), ("step", 5), ("halo", 9), ("wrapper", 1)];
        let right: &[_] = &[("main", 20), ("step", 5), ("halo", 10), ("wrapper", 1)];
        assert_eq!(name_of_paths(&[left, right]), "wrapper (halo.c:9-10)");
        assert_eq!(name_of_paths(&[left]), "wrapper (wrapper.c:1)");
        assert_eq!(name_of_paths(&[&[("main", 20)], &[("run", 3)]]), "main, run");
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
