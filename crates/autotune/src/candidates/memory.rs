//! Settings of glibc's allocator, and huge pages.

use super::{CandidateList, SystemFacts};
use crate::run_facts::RunFacts;

/// Seconds of a page fault: the kernel's work, and a page of zeros.
const FAULT_S: f64 = 1.5e-6;
/// Share of the time that address translation may take in a program with much memory.
const TRANSLATION_SHARE: f64 = 0.08;
/// With less memory, huge pages change nothing.
const MIN_RESIDENT: u64 = 16 << 20;

pub(super) fn add_candidates(run: &RunFacts, system: &SystemFacts, list: &mut CandidateList) {
    let faults = (run.faults_per_s * FAULT_S).min(0.9);
    let reason = format!("{:.0} page faults per second and rank", run.faults_per_s);
    // Large blocks are mapped when they are allocated and unmapped when they are freed, so every use faults again.
    list.add(
        "allocator",
        "keep freed memory",
        faults,
        reason.clone(),
        &[("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "1099511627776"), ("MALLOC_TOP_PAD_", "67108864")],
    );
    list.add(
        "allocator",
        "keep freed blocks up to 32 MiB",
        0.9 * faults,
        reason.clone(),
        &[("MALLOC_MMAP_THRESHOLD_", "33554432"), ("MALLOC_TRIM_THRESHOLD_", "268435456"), ("MALLOC_TOP_PAD_", "16777216")],
    );
    let is_on_request = system.huge_pages.as_deref() == Some("madvise");
    let is_large = system.resident_bytes >= MIN_RESIDENT;
    if is_on_request && is_large {
        let relevance = TRANSLATION_SHARE.max(0.8 * faults);
        let reason = format!("{} of memory, and {reason}", sintonia_text::quantity::format_bytes(system.resident_bytes));
        list.add("huge pages", "huge pages for the heap", relevance, reason, &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]);
        if system.has_library("_multiarray_umath") {
            list.add("numpy huge pages", "no huge pages for numpy", 0.02, "numpy is loaded", &[("NUMPY_MADVISE_HUGEPAGE", "0")]);
        }
    }
}
