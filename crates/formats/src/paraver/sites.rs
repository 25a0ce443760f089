//! The call sites of a trace: each combination of callers is one.

use std::collections::HashMap;

use sintonia_recording::header::Site;

use super::names::Names;

/// Call sites, each found once. The first is that of calls of which the trace does not say where they were made.
pub struct Sites {
    list: Vec<Site>,
    known: HashMap<Vec<(u64, u64)>, u32>,
}

impl Sites {
    /// Begins with the unknown one.
    pub fn new() -> Sites {
        Sites { list: vec![Site::default()], known: HashMap::from([(Vec::new(), 0)]) }
    }

    /// The number of the site that these callers are, the innermost first: each the values of its function and its line.
    pub fn number(&mut self, callers: Vec<(u64, u64)>, names: &Names) -> u32 {
        *self.known.entry(callers).or_insert_with_key(|callers| {
            self.list.push(names.site(callers));
            self.list.len() as u32 - 1
        })
    }

    /// All of them, by number.
    pub fn list(self) -> Vec<Site> {
        self.list
    }
}
