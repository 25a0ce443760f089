//! Renders the program graph for GraphViz: a cluster per role, and in it one per function and loop.

use std::io::{self, Write};

use super::{GraphDrawing, NodeStage, NodeSymbol, OperationNode, RoleLane};

/// Writes the graph in DOT.
pub fn write(drawing: &GraphDrawing, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    for line in std::iter::once(&drawing.title).chain(&drawing.notes) {
        writeln!(out, "// {}", line.replace(char::is_control, " "))?;
    }
    // Without `newrank`, nodes in `rank=same` fall out of their clusters.
    writeln!(out, "digraph program {{\n  newrank=true;")?;
    writeln!(out, "  node [fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=9];")?;
    for (number, lane) in drawing.lanes.iter().enumerate() {
        write_lane(drawing, number, lane, out)?;
    }
    for message in &drawing.messages {
        let (from, to) = (node_id(message.from.0, message.from.1), node_id(message.to.0, message.to.1));
        writeln!(out, "  {from} -> {to} [style=dashed, color=\"#aa4c84\", constraint=false, label={}];", dot_string(&message.note))?;
    }
    for set in &drawing.collectives {
        let members = drawing.lanes.iter().enumerate().flat_map(|(number, lane)| {
            lane.steps.iter().filter(|step| set.contains(&step.node)).map(move |step| node_id(number, step.node))
        });
        writeln!(out, "  {{ rank=same; {} }}", members.collect::<Vec<_>>().join("; "))?;
    }
    writeln!(out, "}}")
}

fn write_lane(drawing: &GraphDrawing, number: usize, lane: &RoleLane, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    writeln!(out, "  subgraph cluster_{number} {{\n    label={};", dot_string(&format!("{}\n{}", lane.name, lane.note)))?;
    let mut open: Vec<usize> = Vec::new();
    for step in &lane.steps {
        let inside: Vec<usize> = (0..lane.scopes.len()).filter(|one| lane.scopes[*one].nodes.contains(&step.node)).collect();
        let same = open.iter().zip(&inside).take_while(|(open, inside)| open == inside).count();
        (same..open.len()).try_for_each(|_| writeln!(out, "    }}"))?;
        open.truncate(same);
        for one in &inside[same..] {
            let scope = &lane.scopes[*one];
            let style = if scope.iterations.is_empty() { "solid" } else { "dashed" };
            let label = dot_string(format!("{} {}", scope.name, scope.iterations).trim());
            writeln!(out, "    subgraph cluster_{number}_{one} {{ style={style}; label={label};")?;
            open.push(*one);
        }
        let node = &drawing.nodes[step.node];
        let lines = [&node.name, &node.source, &step.note, &step.more].into_iter().filter(|line| !line.is_empty());
        let label = dot_string(&lines.cloned().collect::<Vec<_>>().join("\n"));
        writeln!(out, "    {} [{}, label={label}];", node_id(number, step.node), node_attributes(node))?;
    }
    open.iter().try_for_each(|_| writeln!(out, "    }}"))?;
    for path in &lane.paths {
        let label = path
            .computation
            .as_ref()
            .map_or(String::new(), |work| format!("{}\n{}", work.function_and_note(&work.function), work.per_iteration));
        writeln!(out, "    {} -> {} [label={}];", node_id(number, path.from), node_id(number, path.to), dot_string(&label))?;
    }
    writeln!(out, "  }}")
}

fn node_attributes(node: &OperationNode) -> String {
    let (shape, colour) = match node.symbol {
        NodeSymbol::Send => ("triangle", "#0072b2"),
        NodeSymbol::Receive => ("invtriangle", "#d55e00"),
        NodeSymbol::Exchange => ("diamond", "#0072b2"),
        NodeSymbol::Collective => ("box", "#009e73"),
        NodeSymbol::Other => ("ellipse", "#777777"),
        NodeSymbol::Folded => ("box3d", "#44546a"),
    };
    let style = match node.stage {
        NodeStage::Whole => "solid",
        NodeStage::Begin => "dashed",
        NodeStage::End => "bold",
    };
    format!("shape={shape}, color=\"{colour}\", style={style}")
}

fn node_id(lane: usize, node: usize) -> String {
    format!("n{lane}_{node}")
}

fn dot_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::super::sample::master_and_workers;
    use super::*;

    #[test]
    fn roles_and_loops_are_clusters_and_messages_lead_from_one_to_another() {
        let mut out = Vec::new();
        write(&master_and_workers(), &mut out).unwrap();
        let dot = String::from_utf8(out).unwrap();
        assert!(
            dot.contains("  subgraph cluster_0 {\n") && dot.contains("subgraph cluster_0_0 { style=dashed; label=\"x 3 <&> so\";"),
            "{dot}"
        );
        assert!(dot.contains("n0_4 -> n0_1 [label=\"50 %\\n3 x 1 s\"];"), "{dot}");
        assert!(dot.contains("n0_1 -> n1_2 [style=dashed"), "{dot}");
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(dot_string("a\"b\\c\nd\u{7}"), r#""a\"b\\c\nd ""#);
    }
}
