//! Text that fits on a screen, and formatted amounts.

pub(crate) use sintonia_text::layout::{share_bar, truncate_end, truncate_start, wrap};
pub(crate) use sintonia_text::quantity::{
    binary_bytes, format_bytes, format_count, format_percent, format_percent_range, format_plural, format_quantity, format_seconds,
    format_seconds_range,
};
pub(crate) use sintonia_text::rank_list::{format_rank_list, format_ranks};
pub(crate) use sintonia_text::shell::shell_command;
