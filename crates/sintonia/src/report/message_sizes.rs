//! Sizes of messages, in the report as text.

use sintonia_insight::{MessageSizeClass, RunSummary};

use crate::text::{binary_bytes, format_bytes, format_count, share_bar};

const MAX_SIZES: usize = 5;
const BAR_WIDTH: usize = 30;

/// Messages between ranks by size, in few classes or in all.
pub(super) fn sizes(summary: &RunSummary, all: bool) -> Vec<String> {
    let classes = if all { summary.sizes.clone() } else { merge_size_classes(&summary.sizes, MAX_SIZES) };
    let Some(most) = classes.iter().map(|c| c.messages).max() else { return Vec::new() };
    let title = format!("{:<46}{:>14}{:>12}", "Messages between ranks, by size", "messages", "bytes");
    let row = |c: &MessageSizeClass| {
        let size = if c.up_to == 0 { "empty".into() } else { format!("to {}", binary_bytes(c.up_to)) };
        let bar = share_bar(c.messages as f64 / most as f64, BAR_WIDTH);
        format!("  {size:<13}{bar:<31}{:>14}{:>12}", format_count(c.messages), format_bytes(c.bytes))
    };
    std::iter::once(title).chain(classes.iter().map(row)).collect()
}

/// Merges neighbouring size classes until there are few enough.
fn merge_size_classes(sizes: &[MessageSizeClass], most: usize) -> Vec<MessageSizeClass> {
    let mut step = 1;
    loop {
        let mut merged: Vec<MessageSizeClass> = Vec::new();
        // Empty messages are a class of their own.
        let group = |class: &MessageSizeClass| class.up_to.checked_ilog2().map(|power| power / step);
        for class in sizes {
            match merged.last_mut().filter(|last| group(last) == group(class)) {
                Some(last) => {
                    *last =
                        MessageSizeClass { up_to: class.up_to, messages: last.messages + class.messages, bytes: last.bytes + class.bytes };
                }
                None => merged.push(class.clone()),
            }
        }
        if merged.len() <= most {
            return merged;
        }
        step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(up_to: u64) -> MessageSizeClass {
        MessageSizeClass { up_to, messages: 1, bytes: up_to }
    }

    #[test]
    fn sizes_are_put_together_until_they_fit() {
        let few = [class(0), class(8), class(64)];
        assert_eq!(merge_size_classes(&few, 5), few);
        let many: Vec<MessageSizeClass> = std::iter::once(0).chain((0..40).map(|power| 1 << power)).map(class).collect();
        let merged = merge_size_classes(&many, 5);
        assert_eq!(
            merged.iter().map(|c| (c.up_to, c.messages)).collect::<Vec<_>>(),
            [(0, 1), (1 << 9, 10), (1 << 19, 10), (1 << 29, 10), (1 << 39, 10)]
        );
        assert_eq!(merged.iter().map(|c| c.bytes).sum::<u64>(), many.iter().map(|c| c.bytes).sum::<u64>());
    }
}
