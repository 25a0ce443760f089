//! `anchor.xml`, which says what a Cube file has: metrics, regions, the call tree, and how many threads there are.

use roxmltree::{Document, Node};
use std::collections::HashMap;

/// What a Cube file has.
#[derive(Debug)]
pub(super) struct CubeAnchor {
    pub metrics: Vec<CubeMetric>,
    /// The nodes of the call tree, each behind its caller.
    pub calls: Vec<CallNode>,
    /// The number of threads.
    pub locations: usize,
}

/// A metric.
#[derive(Debug)]
pub(super) struct CubeMetric {
    /// Its number, which is in the names of its files.
    pub id: String,
    pub name: String,
    pub unit: String,
    pub data_type: String,
    /// Whether values include those of called regions.
    pub is_inclusive: bool,
}

/// A node of the call tree.
#[derive(Debug)]
pub(super) struct CallNode {
    pub region: String,
    /// Index of the caller.
    pub caller: Option<usize>,
}

/// What is wrong, and the line.
pub(super) type AnchorError = (usize, String);

/// Parses the file.
pub(super) fn parse_anchor(text: &str) -> Result<CubeAnchor, AnchorError> {
    let document = Document::parse(text).map_err(|error| (error.pos().row as usize, error.to_string()))?;
    let line = |node: Node| document.text_pos_at(node.range().start).row as usize;
    let section = |name: &str| {
        let found = document.root_element().children().find(|node| node.has_tag_name(name));
        found.ok_or_else(|| (1, format!("no <{name}>: this is not the anchor of a Cube file")))
    };
    let attribute = |node: Node, name: &str| {
        let value = node.attribute(name).map(str::to_owned);
        value.ok_or_else(|| (line(node), format!("<{}> has no attribute `{name}`", node.tag_name().name())))
    };
    let metric = |node: Node| {
        Ok(CubeMetric {
            id: attribute(node, "id")?,
            name: child_text(node, "uniq_name"),
            unit: child_text(node, "uom"),
            data_type: child_text(node, "dtype"),
            is_inclusive: attribute(node, "type")? == "INCLUSIVE",
        })
    };
    let program = section("program")?;
    let mut regions: HashMap<String, String> = HashMap::new();
    for region in program.children().filter(|node| node.has_tag_name("region")) {
        regions.insert(attribute(region, "id")?, child_text(region, "name"));
    }
    let (mut calls, mut indices) = (Vec::new(), HashMap::new());
    for node in program.descendants().filter(|node| node.has_tag_name("cnode")) {
        let callee = attribute(node, "calleeId")?;
        let region = regions.get(&callee).ok_or_else(|| (line(node), format!("there is no region {callee}")))?;
        let caller = node.parent().and_then(|caller| indices.get(&caller.id()).copied());
        indices.insert(node.id(), calls.len());
        calls.push(CallNode { region: region.clone(), caller });
    }
    let metrics = section("metrics")?.descendants().filter(|node| node.has_tag_name("metric")).map(metric);
    Ok(CubeAnchor {
        metrics: metrics.collect::<Result<_, _>>()?,
        calls,
        locations: section("system")?.descendants().filter(|node| node.has_tag_name("location")).count(),
    })
}

fn child_text(node: Node, name: &str) -> String {
    node.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text()).unwrap_or_default().trim().to_owned()
}

impl CubeAnchor {
    /// The nodes called by each node.
    fn callees(&self) -> Vec<Vec<usize>> {
        let mut callees = vec![Vec::new(); self.calls.len()];
        for (index, call) in self.calls.iter().enumerate() {
            call.caller.into_iter().for_each(|caller| callees[caller].push(index));
        }
        callees
    }

    /// The nodes in the order of a metric's values: in the order of the file; for inclusive metrics, all that a node calls precede what
    /// they call.
    pub(super) fn value_order(&self, metric: &CubeMetric) -> Vec<usize> {
        if !metric.is_inclusive {
            return (0..self.calls.len()).collect();
        }
        let callees = self.callees();
        let mut order = Vec::with_capacity(self.calls.len());
        for root in (0..self.calls.len()).filter(|index| self.calls[*index].caller.is_none()) {
            order.push(root);
            let mut next = vec![root];
            while let Some(node) = next.pop() {
                order.extend(&callees[node]);
                next.extend(callees[node].iter().rev());
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inclusive_values_have_all_callees_before_what_they_call() {
        let call = |caller| CallNode { region: String::new(), caller };
        let calls = vec![call(None), call(Some(0)), call(Some(1)), call(Some(1)), call(Some(0)), call(Some(4))];
        let anchor = CubeAnchor { metrics: Vec::new(), calls, locations: 1 };
        let metric = |is_inclusive| CubeMetric { id: "0".into(), name: "t".into(), unit: "".into(), data_type: "".into(), is_inclusive };
        assert_eq!(anchor.value_order(&metric(true)), [0, 1, 4, 2, 3, 5]);
        assert_eq!(anchor.value_order(&metric(false)), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn errors_have_their_line() {
        let wrong = |text: &str| parse_anchor(text).unwrap_err();
        assert_eq!(wrong("<cube>\n<metrics></cube>").0, 2);
        assert_eq!(wrong("<cube/>"), (1, "no <program>: this is not the anchor of a Cube file".into()));
        let program = "<cube><metrics/><system/><program>\n<region id=\"1\"/>\n<cnode calleeId=\"2\"/></program></cube>";
        assert_eq!(wrong(program), (3, "there is no region 2".into()));
    }
}
