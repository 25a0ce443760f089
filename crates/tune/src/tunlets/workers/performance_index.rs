//! The performance index of section 4.3 of the paper on MATE, which weighs time against the processors used.

/// Load of an iteration of a master with its workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MasterWorkerLoad {
    /// Message latency in seconds.
    pub latency: f64,
    /// Seconds per byte.
    pub per_byte: f64,
    /// Bytes sent in both directions.
    pub bytes: f64,
    /// Share of them that goes to the workers.
    pub share_out: f64,
    /// Seconds of computation, of all workers together.
    pub computing: f64,
}

impl MasterWorkerLoad {
    /// Iteration time with `workers`: equation 4.7.
    pub(super) fn time(&self, workers: u32) -> f64 {
        let count = f64::from(workers);
        let sending = ((count - 1.0) * self.share_out + 1.0) * self.per_byte * self.bytes;
        2.0 * self.latency + (sending + self.computing) / count
    }

    /// Time over efficiency, smaller is better: equations 4.5 and 4.6.
    pub(super) fn index(&self, workers: u32) -> f64 {
        f64::from(workers) * self.time(workers).powi(2) / self.computing
    }

    /// The number of workers up to `most` with the least index, among those allowed; `None` without computation.
    pub(super) fn best_worker_count(&self, most: u32, is_allowed: impl Fn(u32) -> bool) -> Option<u32> {
        if !(self.computing > 0.0 && self.computing.is_finite()) {
            return None;
        }
        (1..=most).filter(|workers| is_allowed(*workers)).min_by(|one, other| self.index(*one).total_cmp(&self.index(*other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(load: MasterWorkerLoad) -> Option<u32> {
        load.best_worker_count(64, |_| true)
    }

    #[test]
    fn equations_match_the_paper() {
        let load = MasterWorkerLoad { latency: 0.5, per_byte: 0.01, bytes: 100.0, share_out: 0.6, computing: 10.0 };
        // 2 * 0.5 + ((3 * 0.6 + 1) * 1 + 10) / 4 = 4.2; 4 * 4.2² / 10 = 7.056.
        assert!((load.time(4) - 4.2).abs() < 1e-12 && (load.index(4) - 7.056).abs() < 1e-12);
    }

    #[test]
    fn without_communication_all_workers_are_used() {
        let load = MasterWorkerLoad { latency: 0.0, per_byte: 0.0, bytes: 0.0, share_out: 0.5, computing: 10.0 };
        assert_eq!((best(load), load.time(4)), (Some(64), 2.5));
    }

    #[test]
    fn more_communication_means_fewer_workers() {
        let best =
            |per_byte| best(MasterWorkerLoad { latency: 1e-4, per_byte, bytes: 1e7, share_out: 0.5, computing: 1.0 }).expect("computed");
        assert!(best(1e-10) > best(1e-8) && best(1e-8) > best(1e-7));
        assert!(best(1e-6) <= 2);
    }

    #[test]
    fn without_computation_there_is_no_index() {
        assert_eq!(best(MasterWorkerLoad { latency: 0.0, per_byte: 0.0, bytes: 0.0, share_out: 0.0, computing: 0.0 }), None);
    }
}
