//! How far an analysis is.

/// Gets what the analysis does, and how many steps of it are done since the last call; 0 when it begins.
pub type ProgressSink<'a> = dyn Fn(&'static str, usize) + Sync + 'a;

/// Does something that counts as this number of steps.
pub(crate) fn report_activity<T>(progress: &ProgressSink, activity: &'static str, steps: usize, work: impl FnOnce() -> T) -> T {
    progress(activity, 0);
    let result = work();
    progress(activity, steps);
    result
}
