//! From hand-made runs to parts, models, predictions and tasks.

use std::collections::BTreeMap;

use sintonia_insight::program_part::{OperationSite, ProgramPart};
use sintonia_machine::Machine;
use sintonia_model::experiment::Experiment;
use sintonia_model::host_effects::HostEffects;
use sintonia_model::master_worker::{MasterWorkerError, MasterWorkerRun};
use sintonia_model::model::{PerformanceModel, PredictionBasis};
use sintonia_model::predict::Predictor;
use sintonia_model::run::{MeasuredRun, RunError, SiteTraffic};
use sintonia_model::run_metric::RunMetric;
use sintonia_model::run_selection::{RunDefect, RunSelection};
use sintonia_model::series::CurveForm;
use sintonia_model::study::ScalingStudy;
use sintonia_recording::header::{ProcessExit, RecordingHeader};
use sintonia_recording::host::{CacheDescription, HostDescription, OffCpuSource, ProcessMemory, ThreadUsage};
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::testing::*;

/// A rank between MPI_Init and MPI_Finalize.
fn rank(start: u64, calls: Vec<TestCall>, end: u64) -> Vec<TestCall> {
    [vec![init().line(1).at_ms(0, start)], calls, vec![finalize().line(9).at_ms(end, end + 1)]].concat()
}

fn run(ranks: &[Vec<TestCall>], parameters: &[(&str, f64)]) -> MeasuredRun {
    let parameters: BTreeMap<String, f64> = parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    let recording = RecordingBuilder::new().ranks(ranks).header(|header| header.parameters = parameters).write();
    MeasuredRun::from_recording("run.sin", &recording, &|| {}).unwrap()
}

fn spot(operation: &str, line: u32) -> OperationSite {
    OperationSite { operation: operation.into(), place: format!("me/program.c:{line}") }
}

/// Rank 1 waits for rank 0, which computes 50 ms longer.
fn late() -> [Vec<TestCall>; 2] {
    [rank(10, vec![send(1).line(2).at_ms(70, 75)], 80), rank(12, vec![receive(0).line(3).at_ms(20, 78)], 100)]
}

#[test]
fn the_parts_of_the_critical_path_add_up_to_the_time_of_the_run() {
    let run = run(&late(), &[]);
    assert_eq!(run.seconds, 0.090, "from the first end of MPI_Init to the last beginning of MPI_Finalize");
    let sum: f64 = run.parts.values().map(|part| part.path_s).sum();
    assert!((sum - run.seconds).abs() < 1e-12, "{sum}");
    let on_path = |part: &ProgramPart| run.parts.get(part).map_or(0.0, |part| part.path_s);
    let computation = |from: OperationSite, to: OperationSite| ProgramPart::Computation { from, to };
    assert_eq!(on_path(&computation(spot("MPI_Init", 1), spot("MPI_Send", 2))), 0.060);
    assert_eq!(on_path(&ProgramPart::Communication { at: spot("MPI_Recv", 3) }), 0.008);
    assert_eq!(on_path(&computation(spot("MPI_Recv", 3), spot("MPI_Finalize", 9))), 0.022);
    assert!((run.init_finalize_s - 0.011).abs() < 1e-12, "before and after, {}", run.init_finalize_s);
}

#[test]
fn what_a_rank_spends_without_waiting_is_known_wherever_the_path_went() {
    let run = run(&late(), &[]);
    let each = |part: ProgramPart| run.parts[&part].mean_rank_s;
    assert_eq!(each(ProgramPart::Communication { at: spot("MPI_Send", 2) }), 0.005, "not on the path");
    assert_eq!(each(ProgramPart::Communication { at: spot("MPI_Recv", 3) }), 0.008, "58 ms less 50 of waiting");
    let busy: Vec<(usize, f64)> = run.roles.iter().map(|role| (role.ranks, role.busy_s)).collect();
    assert_eq!(busy, [(1, 0.070), (1, 0.038)]);
    assert_eq!(run.traffic[&spot("MPI_Send", 2)], SiteTraffic { ranks: 1, calls: 1, bytes: 8 });
}

/// A selection after these runs of two ranks, `n` being the place in the list.
fn selected(include: &[RunDefect], headers: &[fn(&mut RecordingHeader)]) -> RunSelection {
    let mut selection = RunSelection::including(include.iter().copied());
    for (index, change) in headers.iter().enumerate() {
        let recording = record_calls(late()).with_header(|header| {
            header.parameters = [("n".to_owned(), (1 << index) as f64)].into();
            change(header);
        });
        selection.read(&format!("{index}.sin"), &recording, &|| {}).unwrap();
    }
    selection
}

/// What is wrong, if one run of these is of no use.
fn refusal(change: fn(&mut RecordingHeader)) -> String {
    let none: fn(&mut RecordingHeader) = |_| {};
    selected(&[], &[none, none, change]).into_study(|runs| ScalingStudy::from_runs(runs, None, None, None)).unwrap_err().to_string()
}

#[test]
fn runs_that_failed_or_are_cut_or_had_too_few_cores_are_left_out_with_the_reason() {
    let failed = refusal(|header| header.exit_status = Some(3));
    assert!(failed.contains("not enough recordings") && failed.contains("measure n = 4 next"), "{failed}");
    let how =
        "Left out (2.sin: its command ended with exit status 3). Record these runs again, or fit them all the same with --include failed";
    assert!(failed.ends_with(how), "{failed}");
    let cut = refusal(|header| header.ranks[1].end = ProcessExit::CutShort);
    assert!(cut.contains("2.sin: rank 1 is incomplete (cut short)") && cut.ends_with("--include truncated"), "{cut}");
    let killed = refusal(|header| {
        header.exit_status = Some(137);
        header.ranks.pop();
    });
    let why = "2.sin: its command ended with exit status 137 (signal 9), and rank 1 is incomplete (no data)";
    assert!(killed.contains(why) && killed.ends_with("--include failed,truncated"), "{killed}");
    let aborted = refusal(|header| header.ranks[0].end = ProcessExit::Aborted);
    assert!(aborted.contains("2.sin: rank 0 called MPI_Abort") && aborted.ends_with("--include failed"), "{aborted}");
    let lost = refusal(|header| header.ranks[0].dropped = 7);
    assert!(lost.contains("2.sin: calls of rank 0 were lost") && lost.ends_with("--include truncated"), "{lost}");
    let crowded = refusal(|header| {
        header.host_descriptions = vec![HostDescription { processors: "0".into(), ..HostDescription::default() }];
        header.ranks.iter_mut().for_each(|rank| rank.usage = vec![usage(500, "0")]);
    });
    assert!(crowded.contains("2.sin: 2 ranks shared 1 core: ") && crowded.ends_with("--include oversubscribed"), "{crowded}");
}

#[test]
fn a_run_of_another_library_is_left_out() {
    let other = refusal(|header| header.mpi.library = "MPICH 4.0".into());
    assert!(other.contains("2.sin: it ran with MPICH 4.0, most others with ") && other.ends_with("--include different"), "{other}");
}

#[test]
fn a_run_that_is_left_out_or_included_all_the_same_is_named_in_the_model() {
    let change: [fn(&mut RecordingHeader); 5] = [|_| {}, |_| {}, |_| {}, |_| {}, |header| header.exit_status = Some(3)];
    let notes = |include: &[RunDefect]| {
        let study = selected(include, &change).into_study(|runs| ScalingStudy::from_runs(runs, None, None, None)).unwrap();
        (study.runs, study.model.notes.first().cloned().unwrap_or_default())
    };
    let left_out = "warning: 4.sin is left out: its command ended with exit status 3 (`--include failed` fits it all the same)";
    assert_eq!(notes(&[]), (4, left_out.to_owned()));
    assert_eq!(notes(&[RunDefect::Failed]), (5, "warning: 4.sin is fitted although its command ended with exit status 3".to_owned()));
}

#[test]
fn a_parameter_that_contradicts_the_number_of_ranks_is_refused() {
    let recording = record_calls(late()).with_header(|header| header.parameters = [("p".to_owned(), 7.0)].into());
    assert!(matches!(MeasuredRun::from_recording("other.sin", &recording, &|| {}), Err(RunError::RanksMismatch { ranks: 2, .. })));
}

/// A program that computes for n²/p ms and reduces 8n bytes in n ms.
fn sized(n: u64, p: u64) -> MeasuredRun {
    let computed = 10 + n * n / p;
    let agree = collective("MPI_Allreduce").sent(8 * n).received(8 * n);
    let ranks: Vec<Vec<TestCall>> =
        (0..p).map(|_| rank(10, vec![agree.clone().line(2).at_ms(computed, computed + n)], computed + n + 1)).collect();
    run(&ranks, &[("n", n as f64)])
}

fn experiment() -> Experiment {
    let runs = [20, 40, 60, 80].into_iter().flat_map(|n| [1, 2, 4].map(|p| sized(n, p))).collect();
    Experiment::from_runs(runs, None).unwrap()
}

#[test]
fn the_formula_of_a_program_is_found_and_predicts_larger_runs() {
    let model = PerformanceModel::from_experiment("sized", &experiment()).unwrap();
    let names = model.parameter_names();
    assert_eq!(names, ["n", "p"]);
    for (n, p) in [(160, 4), (160, 8), (80, 16)] {
        let took = sized(n, p).seconds;
        let [low, middle, high] = Predictor::new(&model, &names).predict_seconds(&[n as f64, p as f64]).unwrap();
        assert!((middle / took - 1.0).abs() < 0.02, "n = {n}, p = {p}: {middle} instead of {took}, {}", model.formula());
        assert!(low <= took * 1.001 && took <= high * 1.001, "n = {n}, p = {p}: {took} in [{low}, {high}]");
    }
    assert!(model.error_percent().unwrap() < 2.0, "{:?}", model.validation);
    let agree = model.parts.iter().find(|part| part.calls.is_some()).unwrap();
    let calls = agree.calls.as_ref().unwrap();
    assert_eq!((calls.count.to_string().as_str(), calls.bytes.to_string().as_str()), ("p", "8*n*p"));
}

#[test]
fn predictions_use_what_predicts_the_largest_runs_better() {
    let mut experiment = experiment();
    // The parts disagree with the total: what they do not cover grows.
    for (run, setting) in experiment.runs.iter_mut().zip(&experiment.settings) {
        run.seconds += 1e-6 * setting[0].powi(3);
    }
    let model = PerformanceModel::from_experiment("sized", &experiment).unwrap();
    assert_eq!(model.uses, PredictionBasis::Whole, "{:?}", model.validation);
    assert!(model.notes.iter().any(|note| note.contains("formula of the total time")), "{:?}", model.notes);
}

/// The same program, as if its ranks shared one core: the computation of each takes p times as long, of which it waits all but one part, and
/// the allreduce takes 20 ms more, in which every rank waits for all others to have the core.
fn sized_on_one_core(n: u64, p: u64) -> MeasuredRun {
    let agree = collective("MPI_Allreduce").sent(8 * n).received(8 * n);
    let (begin, all_wait) = (10 + n * n, if p > 1 { 20 } else { 0 });
    let ms = |begin: u64, end: u64| OffCpuInterval {
        begin: begin as i64 * 1_000_000,
        end: end as i64 * 1_000_000,
        waiting_ns: (end - begin) * 1_000_000,
        ..OffCpuInterval::default()
    };
    let mut builder = RecordingBuilder::new();
    for this in 0..p {
        let calls = rank(10, vec![agree.clone().line(2).at_ms(begin, begin + all_wait + n)], begin + all_wait + n + 1);
        let part = n * n / p;
        let mut waits = vec![ms(10, 10 + this * part), ms(10 + (this + 1) * part, begin)];
        waits.push(ms(begin, begin + all_wait));
        waits.retain(|wait| wait.waiting_ns > 0);
        builder = builder.rank(calls).off_cpu(&[ThreadOffCpu::new(0, waits)]);
    }
    let recording = builder.header(|header| header.parameters = [("n".to_owned(), n as f64)].into()).write();
    MeasuredRun::from_recording("crowded.sin", &recording, &|| {}).unwrap()
}

#[test]
fn runs_whose_ranks_shared_a_core_have_the_times_of_runs_with_a_core_each() {
    for (n, p) in [(20, 2), (40, 4), (80, 4)] {
        let (alone, crowded) = (sized(n, p), sized_on_one_core(n, p));
        let difference = |a: f64, b: f64| (a / b - 1.0).abs();
        assert!(difference(crowded.seconds, alone.seconds) < 1e-6, "{} and {}", crowded.seconds, alone.seconds);
        for (part, time) in alone.parts.iter().filter(|(_, time)| time.mean_rank_s > 0.0) {
            let there = &crowded.parts[part];
            assert!(difference(there.mean_rank_s, time.mean_rank_s) < 1e-6, "{part}: {there:?} instead of {time:?}");
        }
        let waits = crowded.core_waits.expect("waiting for a core");
        assert!(waits.is_removed && waits.has_communication && difference(waits.recorded_s, (n * n + n + 21) as f64 * 1e-3) < 1e-6);
        assert!(difference(crowded.init_finalize_s, alone.init_finalize_s) < 1e-6);
        assert_eq!(alone.core_waits, None);
    }
}

#[test]
fn the_formula_of_crowded_runs_is_that_of_the_others_and_says_so() {
    let model = |run: fn(u64, u64) -> MeasuredRun| {
        let runs = [20, 40, 60, 80].into_iter().flat_map(|n| [1, 2, 4].map(|p| run(n, p))).collect();
        PerformanceModel::from_experiment("sized", &Experiment::from_runs(runs, None).unwrap()).unwrap()
    };
    let (alone, crowded) = (model(sized), model(sized_on_one_core));
    let names = crowded.parameter_names();
    let predict = |model: &PerformanceModel| Predictor::new(model, &names).predict_seconds(&[160.0, 8.0]).unwrap();
    let took = sized(160, 8).seconds;
    for (alone, crowded) in predict(&alone).into_iter().zip(predict(&crowded)) {
        assert!((crowded / alone - 1.0).abs() < 0.02, "{crowded} instead of {alone}");
    }
    let [_, middle, _] = predict(&crowded);
    assert!((middle / took - 1.0).abs() < 0.05, "{middle} instead of {took}, {}", crowded.formula());
    let warnings = crowded.notes.iter().filter(|note| note.starts_with("warning: crowded.sin: ")).count();
    assert_eq!(warnings, 8, "all runs but those with one rank: {:?}", crowded.notes);
    assert!(crowded.to_text().contains("without that time"), "the model file says it");
}

/// A thread that waited for so many of 1000 ns.
fn usage(waiting: u64, affinity: &str) -> ThreadUsage {
    let affinity = affinity.to_owned();
    ThreadUsage { elapsed_ns: 1000, cpu_ns: 1000 - waiting, waiting_ns: Some(waiting), affinity, ..ThreadUsage::default() }
}

#[test]
fn a_run_that_waited_for_cores_nobody_knows_when_is_left_out_or_reported() {
    let much = refusal(|header| {
        header.ranks.iter_mut().for_each(|rank| (rank.usage, rank.off_cpu) = (vec![usage(500, "")], Some(OffCpuSource::Totals)));
    });
    assert!(much.contains("50 %") && much.contains("when that was is not recorded") && much.ends_with("--include preempted"), "{much}");
    let read = |waiting| {
        let recording = record_calls(late()).with_header(|header| {
            header.ranks.iter_mut().for_each(|rank| (rank.usage, rank.off_cpu) = (vec![usage(waiting, "")], Some(OffCpuSource::Totals)));
        });
        MeasuredRun::from_recording("run.sin", &recording, &|| {}).unwrap()
    };
    let little = read(150);
    assert_eq!((little.seconds, little.scheduling_s), (0.090, None));
    assert!(!little.core_waits.unwrap().is_removed);
    assert_eq!(read(0).core_waits, None);
}

/// A run of two ranks that compute for `n` ms, of which another program has the core of each for two hundredths in the middle, and then reduce.
fn preempted(n: u64) -> MeasuredRun {
    let lost = n * n / 50;
    let agree = collective("MPI_Allreduce").sent(8).received(8).line(2);
    let calls = rank(10, vec![agree.at_ms(10 + n * n + lost, 12 + n * n + lost)], 13 + n * n + lost);
    let middle = (10 + n * n / 2) as i64 * 1_000_000;
    let lost_ns = lost * 1_000_000;
    let wait = OffCpuInterval { begin: middle, end: middle + lost_ns as i64, waiting_ns: lost_ns, ..OffCpuInterval::default() };
    let builder =
        (0..2).fold(RecordingBuilder::new(), |builder, _| builder.rank(calls.clone()).off_cpu(&[ThreadOffCpu::new(0, vec![wait])]));
    let recording = builder.header(|header| header.parameters = [("n".to_owned(), n as f64)].into()).write();
    MeasuredRun::from_recording("preempted.sin", &recording, &|| {}).unwrap()
}

#[test]
fn computation_is_time_on_a_core_however_little_was_lost() {
    let run = preempted(50);
    assert_eq!(run.core_waits, None, "two hundredths are not noticeable");
    assert!((run.seconds - 2.503).abs() < 1e-9 && (run.scheduling_s.unwrap() - 0.050).abs() < 1e-9, "{run:?}");
    let computation = ProgramPart::Computation { from: spot("MPI_Init", 1), to: spot("MPI_Allreduce", 2) };
    assert!((run.parts[&computation].mean_rank_s - 2.5).abs() < 1e-9, "{:?}", run.parts);
}

#[test]
fn what_waiting_for_cores_adds_is_in_the_prediction_and_not_in_the_formula() {
    let runs = [20, 40, 60, 80].map(preempted).into();
    let model = PerformanceModel::from_experiment("sized", &Experiment::from_runs(runs, None).unwrap()).unwrap();
    let scheduling = model.host_effects.scheduling.unwrap();
    assert!((scheduling.mean_percent - 2.0).abs() < 0.1, "{scheduling:?}");
    let names = model.parameter_names();
    let formula = model.point_estimate(&[160.0]).unwrap();
    let [low, middle, high] = Predictor::new(&model, &names).predict_seconds(&[160.0]).unwrap();
    assert!((formula / 25.603 - 1.0).abs() < 0.01, "{formula}: {}", model.formula());
    assert!(
        (middle / formula - 1.0 - scheduling.mean_percent / 100.0).abs() < 1e-9 && low < 26.1 && 26.1 < high * 1.001,
        "{low} {middle} {high}"
    );
}

/// A run on `n` by `n` numbers in memory, on a host with a second-level cache of 2 MiB.
fn in_memory(n: u64) -> MeasuredRun {
    let calls =
        rank(10, vec![collective("MPI_Allreduce").sent(8).received(8).line(2).at_ms(10 + n * n / 100, 11 + n * n / 100)], 12 + n * n / 100);
    let recording = RecordingBuilder::new().ranks([calls.clone(), calls]).header(|header| {
        let cache = |level, bytes, processors: &str| CacheDescription { level, bytes, processors: processors.into() };
        header.parameters = [("n".to_owned(), n as f64)].into();
        header.host_descriptions = vec![HostDescription {
            processors: "0-3".into(),
            caches: vec![cache(1, 48 << 10, "0"), cache(2, 2 << 20, "0"), cache(3, 64 << 20, "0-3")],
            ..HostDescription::default()
        }];
        let (initial_bytes, mapped_growth_bytes) = (30 << 20, 5 << 20);
        let peak_bytes = initial_bytes + mapped_growth_bytes + (1 << 20) + 8 * n * n;
        header.ranks.iter_mut().for_each(|rank| rank.memory = Some(ProcessMemory { initial_bytes, peak_bytes, mapped_growth_bytes }));
    });
    MeasuredRun::from_recording("memory.sin", &recording.write(), &|| {}).unwrap()
}

#[test]
fn a_prediction_with_more_data_than_a_cache_holds_is_wider_above_and_says_where_it_left_it() {
    let runs = [200, 300, 400, 500].map(in_memory).into();
    let model = PerformanceModel::from_experiment("memory", &Experiment::from_runs(runs, None).unwrap()).unwrap();
    let read = PerformanceModel::parse(&model.to_text(), std::path::Path::new("m")).unwrap();
    assert_eq!(read, model);
    let names = model.parameter_names();
    let predictor = Predictor::new(&model, &names);
    assert!(predictor.cache_crossings(&[500.0]).is_empty());
    let crossings = predictor.cache_crossings(&[1000.0]);
    let [crossing] = &crossings[..] else { panic!("{crossings:?}") };
    assert!(crossing.cache == "L2" && crossing.is_left && (crossing.at[0] - 512.0).abs() < 2.0, "{crossing:?}");
    let own = PerformanceModel { host_effects: HostEffects::default(), ..model.clone() };
    let [low, middle, high] = predictor.predict_seconds(&[1000.0]).unwrap();
    let [own_low, own_middle, own_high] = Predictor::new(&own, &names).predict_seconds(&[1000.0]).unwrap();
    assert_eq!((low, middle), (own_low, own_middle));
    assert!(high > 1.9 * own_high && high <= crossing.slowdown * own_high, "{high}, not {own_high}: almost all of the time is computation");
}

#[test]
fn a_given_form_of_the_total_time_keeps_what_the_host_adds_and_what_parameters_are() {
    let runs = || [200, 300, 400, 500].map(in_memory).to_vec();
    let over = ["n".to_owned()];
    let home = machine("here", 1e-9, 1e-3);
    let fit =
        |machine| ScalingStudy::from_total(runs(), None, Some(&over), &RunMetric::Time, &CurveForm::Polynomial(2), machine).unwrap().model;
    let whole = PerformanceModel::from_experiment("memory", &Experiment::from_runs(runs(), Some(&over)).unwrap()).unwrap();
    let model = fit(None);
    assert_eq!(model.host_effects, whole.host_effects);
    assert_eq!(model.parameters, whole.parameters);
    assert_eq!(fit(Some(&home)).reference_machine.map(|machine| machine.name), Some("here".to_owned()));
}

#[test]
fn processor_time_and_counters_are_fitted_instead_of_the_time() {
    let counted = |n: u64| {
        let recording = record_calls(late()).with_header(|header| {
            header.parameters = [("n".to_owned(), n as f64)].into();
            let usage = ThreadUsage { cpu_ns: 3_000_000 * n, minor_faults: Some(n * n), major_faults: Some(1), ..usage(0, "") };
            header.ranks.iter_mut().for_each(|rank| rank.usage = vec![usage.clone()]);
        });
        MeasuredRun::from_recording("run.sin", &recording, &|| {}).unwrap()
    };
    let fit = |metric: &str| {
        let runs = [10, 20, 30, 40, 50].map(counted).into();
        ScalingStudy::from_total(runs, None, None, &RunMetric::from_name(metric), &CurveForm::Scaling, None)
    };
    let cpu = fit("cpu").unwrap().model;
    assert_eq!((cpu.formula().to_string().as_str(), cpu.quantity.unit.as_str()), ("0.006*n", "s"), "of two ranks");
    let faults = fit("page-faults").unwrap().model;
    assert_eq!((faults.formula().to_string().as_str(), faults.quantity.unit.as_str()), ("2*n^2 + 2", "count"));
    let unknown = fit("cycles").unwrap_err().to_string();
    assert_eq!(unknown, "run.sin has no total of cycles over all ranks; its metrics are time, cpu, page-faults");
}

/// A machine with these costs of addition and allreduce.
fn machine(name: &str, add: f64, allreduce: f64) -> Machine {
    let text = format!(
        "format = 1\n[machine]\nname = \"{name}\"\n[[node]]\nkind = \"a\"\ncount = 1\ncores = 4\n\
         compute.float64.add = {{ latency_s = {add}, throughput_s = {add} }}\n\
         [group.allreduce]\ngrowth = \"1\"\n[[group.allreduce.at]]\nprocesses = 2\npieces = [{{ intercept_s = {allreduce}, slope_s_per_byte = 0.0 }}]\n"
    );
    Machine::parse(&text, std::path::Path::new(name)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn another_machine_changes_computation_by_its_ratio_and_calls_by_the_difference_of_their_costs() {
    let experiment = experiment();
    let mut model = PerformanceModel::from_experiment("sized", &experiment).unwrap();
    model.uses = PredictionBasis::Parts;
    assert!(model.on_machine(&machine("there", 1e-9, 1e-3)).is_err(), "it is not known where the runs were made");
    model.set_reference_machine(&machine("here", 1e-9, 1e-3), &experiment);
    let read = PerformanceModel::parse(&model.to_text(), std::path::Path::new("m")).unwrap();
    let there = read.on_machine(&machine("there", 0.5e-9, 3e-3)).unwrap();
    let (at, part) = ([80.0, 4.0], |model: &PerformanceModel, kind: &str| {
        let names = model.parameter_names();
        let parts = model.parts.iter().filter(|part| part.name.starts_with(kind));
        parts.map(|part| part.term.point_estimate(&names, &[80.0, 4.0]).unwrap()).sum::<f64>()
    });
    assert!((part(&there, "computation") / part(&model, "computation") - 0.5).abs() < 1e-9);
    // A rank calls it once. Beyond the bare call, it waits for computation.
    let reduces = 3e-3 + 0.5 * (part(&model, "MPI_Allreduce") - 1e-3);
    assert!((part(&there, "MPI_Allreduce") / reduces - 1.0).abs() < 1e-9);
    let names = there.parameter_names();
    let [low, middle, high] = Predictor::new(&there, &names).predict_seconds(&at).unwrap();
    assert!(low <= middle && middle <= high && middle < model.point_estimate(&at).unwrap());
    // A machine file that was measured on a disturbed machine widens the interval, and leaves the middle.
    let mut disturbed = machine("there", 0.5e-9, 3e-3);
    disturbed.metadata.disturbance = Some(0.5);
    let disturbed = read.on_machine(&disturbed).unwrap();
    let [lower, same, higher] = Predictor::new(&disturbed, &names).predict_seconds(&at).unwrap();
    assert!(lower < low && (same - middle).abs() < 1e-9 * middle && higher > high, "{lower} {same} {higher}");
}

/// A machine with nodes of `cores` cores, between which sending takes three times as long as on one of them.
fn cluster(cores: u32) -> Machine {
    let network = |class: &str, seconds: f64| {
        format!("[network.{class}.transfer]\npieces = [{{ intercept_s = {seconds}, slope_s_per_byte = 1e-9 }}]\n")
    };
    let text = format!(
        "format = 1\n[machine]\nname = \"cluster\"\n[[node]]\nkind = \"a\"\ncount = 9\ncores = {cores}\n\
         compute.float64.add = {{ latency_s = 1e-9, throughput_s = 1e-9 }}\n{}{}",
        network("same_node", 1e-3),
        network("other_node", 3e-3)
    );
    Machine::parse(&text, std::path::Path::new("cluster")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `p` ranks on this many hosts, of which the first sends `n` kB to each of the others.
fn sending(n: u64, p: u32, hosts: usize) -> MeasuredRun {
    let send = |to: u32| send(to as i32).sent(1000 * n).line(2).at_ms(20 + u64::from(to) * n, 20 + u64::from(to) * n + n);
    let receive = |rank: u32| receive(0).received(1000 * n).line(3).at_ms(15, 21 + u64::from(rank) * n + n);
    let first = rank(10, (1..p).map(send).collect(), 30 + u64::from(p) * n);
    let others = (1..p).map(|other| rank(10, vec![receive(other)], 30 + u64::from(p) * n));
    let ranks: Vec<Vec<TestCall>> = std::iter::once(first).chain(others).collect();
    MeasuredRun { hosts, ..run(&ranks, &[("n", n as f64)]) }
}

#[test]
fn a_model_on_its_own_machine_is_the_same() {
    let placements: [fn(u32) -> usize; 4] = [|p| p.div_ceil(4) as usize, |p| p as usize, |_| 1, |p| p.div_ceil(2) as usize];
    for hosts in placements {
        let runs = [10, 20, 30, 40].into_iter().flat_map(|n| [2, 4, 8].map(|p| sending(n, p, hosts(p)))).collect();
        let experiment = Experiment::from_runs(runs, None).unwrap();
        let mut model = PerformanceModel::from_experiment("sending", &experiment).unwrap();
        model.uses = PredictionBasis::Parts;
        let home = cluster(4);
        model.set_reference_machine(&home, &experiment);
        let read = PerformanceModel::parse(&model.to_text(), std::path::Path::new("m")).unwrap();
        let same = read.on_machine(&home).unwrap();
        assert!(same.parts.iter().any(|part| part.reference_cost.is_some()), "{:?}", model.notes);
        for setting in [[10.0, 2.0], [40.0, 4.0], [80.0, 8.0], [80.0, 64.0]] {
            let [here, there] = [&model, &same].map(|model| model.point_estimate(&setting).unwrap());
            assert!((there / here - 1.0).abs() < 1e-9, "{setting:?}: {there} instead of {here}");
        }
    }
}

/// A master that hands out a 40 ms task to each of two workers, twice; sending takes 2 ms and receiving 3 ms.
fn farm() -> [Vec<TestCall>; 3] {
    let master = vec![
        send(1).line(2).at_ms(10, 12),
        send(2).line(2).at_ms(12, 14),
        receive(1).line(3).at_ms(14, 58),
        receive(2).line(3).at_ms(58, 61),
        send(1).line(4).at_ms(61, 63),
        send(2).line(4).at_ms(63, 65),
        receive(1).line(5).at_ms(65, 109),
        receive(2).line(5).at_ms(109, 112),
    ];
    let worker = |first: u64, second: u64| {
        let task = |begin: u64| [receive(0).line(6).at_ms(begin, begin + 1), send(0).line(7).at_ms(begin + 41, begin + 42)];
        [task(first), task(second)].concat()
    };
    [rank(10, master, 120), rank(10, worker(13, 64), 120), rank(10, worker(15, 66), 120)]
}

#[test]
fn the_tasks_of_a_master_are_found_with_what_they_cost() {
    let recording = record_calls(farm());
    let farm = MasterWorkerRun::from_recording(&recording, &|| {}).unwrap();
    assert_eq!((farm.master, farm.workers, farm.tasks.computing.count()), (0, 2, 4));
    let found = farm.tasks.granularity().unwrap();
    assert!((found.computing.value - 0.040).abs() < 1e-12, "{found:?}");
    assert!((0.004..=0.006).contains(&found.overhead.value), "2 ms to send and 3 ms to receive without waiting: {found:?}");
}

#[test]
fn ranks_that_serve_each_other_have_no_master() {
    let pass = |from: u64, to: i32| send(to).line(2).at_ms(from, from + 1);
    let ranks: Vec<Vec<TestCall>> = (0..4)
        .map(|me: i32| {
            let before = (me + 3) % 4;
            rank(10, vec![pass(20, (me + 1) % 4), receive(before).line(3).at_ms(30, 31)], 40)
        })
        .collect();
    let recording = record_calls(&ranks);
    assert!(matches!(MasterWorkerRun::from_recording(&recording, &|| {}), Err(MasterWorkerError::NoMaster { messages: 4, .. })));
}
