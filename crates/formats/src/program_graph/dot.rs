//! The program graph for GraphViz: a cluster per role, and in it one per loop.

use std::io::{self, Write};

use super::{Drawing, Lane, Node, Stage, Symbol};

/// Writes the graph in the DOT language.
pub fn write(drawing: &Drawing, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    for line in std::iter::once(&drawing.title).chain(&drawing.notes) {
        writeln!(out, "// {}", line.replace(char::is_control, " "))?;
    }
    // Without `newrank`, nodes that stand side by side fall out of their clusters.
    writeln!(out, "digraph program {{\n  newrank=true;")?;
    writeln!(out, "  node [fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=9];")?;
    for (number, lane) in drawing.lanes.iter().enumerate() {
        write_lane(drawing, number, lane, out)?;
    }
    for message in &drawing.messages {
        let (from, to) = (name(message.from.0, message.from.1), name(message.to.0, message.to.1));
        writeln!(out, "  {from} -> {to} [style=dashed, color=\"#aa4c84\", constraint=false, label={}];", quoted(&message.note))?;
    }
    for set in &drawing.together {
        let members =
            drawing.lanes.iter().enumerate().flat_map(|(number, lane)| {
                lane.steps.iter().filter(|step| set.contains(&step.node)).map(move |step| name(number, step.node))
            });
        writeln!(out, "  {{ rank=same; {} }}", members.collect::<Vec<_>>().join("; "))?;
    }
    writeln!(out, "}}")
}

fn write_lane(drawing: &Drawing, number: usize, lane: &Lane, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&format!("{}\n{}", lane.name, lane.note)))?;
    let mut open: Vec<usize> = Vec::new();
    for step in &lane.steps {
        let inside: Vec<usize> = (0..lane.loops.len()).filter(|one| lane.loops[*one].nodes.contains(&step.node)).collect();
        let same = open.iter().zip(&inside).take_while(|(open, inside)| open == inside).count();
        (same..open.len()).try_for_each(|_| writeln!(out, "    }}"))?;
        open.truncate(same);
        for one in &inside[same..] {
            writeln!(out, "    subgraph cluster_{number}_{one} {{ style=dashed; label={};", quoted(&lane.loops[*one].note))?;
            open.push(*one);
        }
        let node = &drawing.nodes[step.node];
        let label = quoted(&format!("{}\n{}\n{}", node.name, node.place, step.note));
        writeln!(out, "    {} [{}, label={label}];", name(number, step.node), look(node))?;
    }
    open.iter().try_for_each(|_| writeln!(out, "    }}"))?;
    for path in &lane.paths {
        let label = path.work.as_ref().map_or(String::new(), |work| format!("{}\n{}", work.note, work.each));
        writeln!(out, "    {} -> {} [label={}];", name(number, path.from), name(number, path.to), quoted(&label))?;
    }
    writeln!(out, "  }}")
}

fn look(node: &Node) -> String {
    let (shape, colour) = match node.symbol {
        Symbol::Send => ("triangle", "#0072b2"),
        Symbol::Receive => ("invtriangle", "#d55e00"),
        Symbol::Exchange => ("diamond", "#0072b2"),
        Symbol::Group => ("box", "#009e73"),
        Symbol::Other => ("ellipse", "#777777"),
    };
    let style = match node.stage {
        Stage::Whole => "solid",
        Stage::Begin => "dashed",
        Stage::End => "bold",
    };
    format!("shape={shape}, color=\"{colour}\", style={style}")
}

fn name(lane: usize, node: usize) -> String {
    format!("n{lane}_{node}")
}

/// A text as DOT takes it.
fn quoted(text: &str) -> String {
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
        assert_eq!(quoted("a\"b\\c\nd\u{7}"), r#""a\"b\\c\nd ""#);
    }
}
