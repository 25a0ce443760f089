//! Performance analysis of recordings: POP efficiencies ([`Efficiency`]), totals and data quality ([`RunSummary`]), wait states
//! ([`wait_states`]) and their root causes ([`delay`]), the critical path ([`critical_path`]), and advice ([`advice`]).

#![forbid(unsafe_code)]

pub mod advice;
pub mod analysis;
pub mod call_durations;
mod call_site_totals;
pub mod core_report;
pub mod core_time;
pub mod counted_time;
pub mod counter_report;
pub mod critical_path;
pub mod delay;
mod efficiency;
pub mod file_report;
pub mod findings;
pub mod function_report;
pub mod gaps;
pub mod ideal_network;
mod mpi_bounds;
mod mpi_file_calls;
pub mod off_cpu;
pub mod openmp;
mod part_comparison;
mod part_times;
pub mod phase_efficiency;
pub mod program_part;
mod progress;
mod rank_times;
pub mod region_of_interest;
pub mod report_rows;
pub mod resources;
mod run_conditions;
pub mod sampled_time;
mod scaling;
mod seconds;
pub mod segment;
mod source_location;
mod summary;
mod tally;
mod thread_end;
mod thread_summary;
mod thread_times;
pub mod wait_states;

pub use call_site_totals::{CallSiteTotals, CallSpread, SiteRankSpread};
pub use efficiency::{ActiveThread, Efficiency};
pub use part_comparison::{ComparedParts, PartChange, PartTimeBase};
pub use progress::ProgressSink;
pub use rank_times::RankTimes;
pub use run_conditions::ScalingMode;
pub use scaling::{ComputationScaling, RunComparison, RunEfficiency, ScaledRun};
pub use sintonia_replay::Error;
pub use source_location::SourceLocation;
pub use summary::{IncompleteRank, MessageSizeClass, OperationTotals, RankPair, RankSpread, RunSummary, UnfinishedCall};
pub use thread_summary::ThreadSummary;
pub use thread_times::ThreadTimes;
