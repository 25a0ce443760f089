//! Finds settings under which a program runs faster, without knowledge of the program.
//!
//! A recorded run tells where the time goes ([`RunFacts`], [`MainLoop`]). From that follow the settings that can matter at all
//! ([`find_candidates`]): environment variables of the MPI library, its launcher, the OpenMP runtime and the allocator. The command adds a
//! placement of the ranks, and variables of the program that the user allows. [`search`] runs the program with them and without, in turn,
//! drops what does not pay, combines what does, and confirms the combination with runs that had no part in the choice. Runs that print
//! something else do not count ([`OutputComparison`]). The result is a file ([`TunedSettings`]), and is remembered for the program, its
//! arguments and the machine ([`TuningMemory`]).
//!
//! The crate starts no program: the command runs trials ([`TrialRunner`]).

#![forbid(unsafe_code)]

mod candidate;
mod candidates;
mod environment;
mod main_loop;
mod output_comparison;
mod ratio_interval;
mod run_facts;
mod search;
mod trial_settings;
mod tuned_settings;
mod tuning_memory;

pub use candidate::TuningCandidate;
pub use candidates::{SystemFacts, find_candidates};
pub use environment::Environment;
pub use main_loop::MainLoop;
pub use output_comparison::{OutputComparison, OutputDifference};
pub use ratio_interval::RatioInterval;
pub use run_facts::{CollectiveShare, MpiFamily, RunFacts};
pub use search::{CandidateResult, CandidateState, SearchEvent, SearchLimits, SearchResult, TrialOutcome, TrialRun, TrialRunner, search};
pub use trial_settings::TrialSettings;
pub use tuned_settings::{ConfirmedGain, TunedFileError, TunedSettings};
pub use tuning_memory::{RunIdentity, TuningMemory};
