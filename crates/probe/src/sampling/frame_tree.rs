//! The frames of sampled stacks as a tree, each under its caller: a sample then is one number.

use std::collections::HashMap;

use sintonia_recording::raw::samples::RawFrame;

/// Most frames. A program that recurses to ever new depths would fill the memory.
const MAX_FRAMES: u32 = 1_000_000;

#[derive(Default)]
pub(super) struct FrameTree {
    ids: HashMap<(Option<u32>, u64), u32>,
    next: u32,
}

impl FrameTree {
    /// The number of the innermost frame of a stack, given by its addresses, innermost first. `define` gets the frames that are new. If there
    /// are too many, the inner ones are left out; `None` if nothing is left.
    pub(super) fn number_of(&mut self, addresses: &[u64], modules: u32, mut define: impl FnMut(RawFrame)) -> Option<u32> {
        let mut caller = None;
        for address in addresses.iter().rev() {
            let known = self.ids.get(&(caller, *address)).copied();
            if known.is_none() && self.next >= MAX_FRAMES {
                break;
            }
            let id = known.unwrap_or_else(|| {
                define(RawFrame { id: self.next, caller, address: *address, modules });
                self.ids.insert((caller, *address), self.next);
                self.next += 1;
                self.next - 1
            });
            caller = Some(id);
        }
        caller
    }

    /// A file was unloaded: an address may be in another one from now on, and is another frame.
    pub(super) fn forget(&mut self) {
        self.ids.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_defined_once_under_each_caller() {
        let (mut tree, mut defined) = (FrameTree::default(), Vec::new());
        let mut number_of = |addresses: &[u64]| tree.number_of(addresses, 3, |frame| defined.push(frame)).unwrap();
        let numbers = [[9, 5, 1], [9, 6, 1], [9, 5, 1]].map(|stack| number_of(&stack));
        assert_eq!(numbers, [2, 4, 2]);
        let places: Vec<_> = defined.iter().map(|frame| (frame.id, frame.caller, frame.address)).collect();
        assert_eq!(places, [(0, None, 1), (1, Some(0), 5), (2, Some(1), 9), (3, Some(0), 6), (4, Some(3), 9)]);
    }
}
