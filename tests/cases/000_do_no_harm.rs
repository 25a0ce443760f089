//! Do no harm: every program prints the same, says the same and ends the same with and without Sintonia, on every MPI.

use sintonia_tests::{Mpi, NormalizedRun, Program, Recording, for_every_mpi_in_pairs, fresh_dir, not_applicable};

macro_rules! unchanged {
    ($($test:ident => $program:literal;)*) => {
        $(#[test] fn $test() { unchanged($program) })*
        const LISTED: &[&str] = &[$($program),*];
    };
}

unchanged! {
    c_001_send_modes => "c/001_send_modes";
    c_002_wildcards => "c/002_wildcards";
    c_003_waits => "c/003_waits";
    c_004_tests => "c/004_tests";
    c_005_self => "c/005_self";
    c_006_persistent => "c/006_persistent";
    c_007_partitioned => "c/007_partitioned";
    c_008_sendrecv => "c/008_sendrecv";
    c_009_probe => "c/009_probe";
    c_010_collectives => "c/010_collectives";
    c_011_nonblocking_collectives => "c/011_nonblocking_collectives";
    c_012_neighbourhood => "c/012_neighbourhood";
    c_013_bottom => "c/013_bottom";
    c_014_datatype_reuse => "c/014_datatype_reuse";
    c_015_communicators => "c/015_communicators";
    c_016_communicator_reuse => "c/016_communicator_reuse";
    c_017_intercommunicator => "c/017_intercommunicator";
    c_018_rma => "c/018_rma";
    c_019_io => "c/019_io";
    c_020_spawn => "c/020_spawn";
    c_021_sessions => "c/021_sessions";
    c_022_threads => "c/022_threads";
    c_023_errors_return => "c/023_errors_return";
    c_024_error_handler => "c/024_error_handler";
    c_025_exec_child => "c/025_exec_child";
    c_026_fork => "c/026_fork";
    c_027_no_mpi => "c/027_no_mpi";
    c_028_init_twice => "c/028_init_twice";
    c_029_dlopen_handle => "c/029_dlopen_handle";
    c_030_dlopen_global => "c/030_dlopen_global";
    c_031_plugin => "c/031_plugin";
    c_032_weak_symbols => "c/032_weak_symbols";
    c_033_exit_without_finalize => "c/033_exit_without_finalize";
    c_034_status_seven => "c/034_status_seven";
    c_035_abort => "c/035_abort";
    c_036_segv => "c/036_segv";
    c_037_sigkill => "c/037_sigkill";
    c_038_exception => "c/038_exception";
    c_039_large_count => "c/039_large_count";
    c_040_own_names => "c/040_own_names";
    c_041_persistent_collectives => "c/041_persistent_collectives";
    c_042_odd_requests => "c/042_odd_requests";
    c_043_call_sites => "c/043_call_sites";
    c_044_callbacks => "c/044_callbacks";
    c_045_elsewhere => "c/045_elsewhere";
    c_046_small_stack => "c/046_small_stack";
    c_047_file_limit => "c/047_file_limit";
    c_048_standard_input => "c/048_standard_input";
    c_049_many_calls => "c/049_many_calls";
    c_050_outside_init => "c/050_outside_init";
    c_051_fatal_error => "c/051_fatal_error";
    c_052_pcontrol => "c/052_pcontrol";
    c_053_imbalance => "c/053_imbalance";
    c_054_large_messages => "c/054_large_messages";
    c_055_exceptions => "c/055_exceptions";
    c_056_jumps => "c/056_jumps";
    c_057_thread_ends => "c/057_thread_ends";
    c_058_exit_in_handler => "c/058_exit_in_handler";
    c_059_signal_jumps => "c/059_signal_jumps";
    c_060_usage_ledger => "c/060_usage_ledger";
    c_070_off_cpu => "c/070_off_cpu";
    c_071_many_switches => "c/071_many_switches";
    c_072_restricted => "c/072_restricted";
    c_061_out_of_order => "c/061_out_of_order";
    c_062_request_ledger => "c/062_request_ledger";
    c_069_simultaneous_spawns => "c/069_simultaneous_spawns";
    c_063_left_waits => "c/063_left_waits";
    c_064_ends_in_callbacks => "c/064_ends_in_callbacks";
    c_190_nested_loops => "c/190_nested_loops";
    c_191_grid => "c/191_grid";
    c_192_farm => "c/192_farm";
    c_193_message_ledger => "c/193_message_ledger";
    c_200_late_sender => "c/200_late_sender";
    c_201_late_sender_wait => "c/201_late_sender_wait";
    c_202_late_sender_waitall => "c/202_late_sender_waitall";
    c_203_wrong_order => "c/203_wrong_order";
    c_204_wrong_order_two_sources => "c/204_wrong_order_two_sources";
    c_205_late_receiver => "c/205_late_receiver";
    c_206_late_receiver_wait => "c/206_late_receiver_wait";
    c_207_wait_at_barrier => "c/207_wait_at_barrier";
    c_208_wait_at_nxn => "c/208_wait_at_nxn";
    c_209_late_broadcast => "c/209_late_broadcast";
    c_210_early_reduce => "c/210_early_reduce";
    c_211_early_scan => "c/211_early_scan";
    c_212_barrier_completion => "c/212_barrier_completion";
    c_213_nxn_completion => "c/213_nxn_completion";
    c_214_init_completion => "c/214_init_completion";
    c_215_wait_at_finalize => "c/215_wait_at_finalize";
    c_216_late_post => "c/216_late_post";
    c_217_early_wait => "c/217_early_wait";
    c_218_late_complete => "c/218_late_complete";
    c_219_wait_at_fence => "c/219_wait_at_fence";
    c_220_lock_competition => "c/220_lock_competition";
    c_221_wait_at_create => "c/221_wait_at_create";
    c_222_wait_at_free => "c/222_wait_at_free";
    c_223_nonblocking_collective => "c/223_nonblocking_collective";
    c_224_neighbour_collective => "c/224_neighbour_collective";
    c_225_partitioned => "c/225_partitioned";
    c_226_late_sender_threads => "c/226_late_sender_threads";
    c_227_late_sender_killed => "c/227_late_sender_killed";
    c_228_wait_at_collective_io => "c/228_wait_at_collective_io";
    c_230_clean_exchange => "c/230_clean_exchange";
    c_231_clean_collectives => "c/231_clean_collectives";
    c_232_clean_overlap => "c/232_clean_overlap";
    c_240_load_imbalance => "c/240_load_imbalance";
    c_241_moving_imbalance => "c/241_moving_imbalance";
    c_242_serialised_master => "c/242_serialised_master";
    c_243_late_sender_compute => "c/243_late_sender_compute";
    c_244_message_order => "c/244_message_order";
    c_245_late_receiver_compute => "c/245_late_receiver_compute";
    c_246_small_messages => "c/246_small_messages";
    c_247_all_to_all_growth => "c/247_all_to_all_growth";
    c_248_collective_as_barrier => "c/248_collective_as_barrier";
    c_249_unbalanced_placement => "c/249_unbalanced_placement";
    c_250_slow_rank => "c/250_slow_rank";
    c_251_io_by_one_rank => "c/251_io_by_one_rank";
    c_252_core_shortage => "c/252_core_shortage";
    c_255_parts => "c/255_parts";
    c_261_reduce_at_end => "c/261_reduce_at_end";
    c_262_reduce_each_step => "c/262_reduce_each_step";
    c_263_coupled => "c/263_coupled";
    c_264_rare_work => "c/264_rare_work";
    c_265_uneven_fences => "c/265_uneven_fences";
    c_266_clean_halo => "c/266_clean_halo";
    c_270_thread_ledger => "c/270_thread_ledger";
    c_271_rank_ledger => "c/271_rank_ledger";
    c_272_helper_threads => "c/272_helper_threads";
    c_273_thread_lives => "c/273_thread_lives";
    c_280_sizes => "c/280_sizes";
    c_281_tasks => "c/281_tasks";
    c_282_processor_time => "c/282_processor_time";
    c_283_working_set => "c/283_working_set";
    c_680_farm => "c/680_farm";
    c_681_blocks => "c/681_blocks";
    c_700_head_to_head => "c/700_head_to_head";
    c_710_fixed_work => "c/710_fixed_work";
    c_800_halo => "c/800_halo";
    c_801_everyone => "c/801_everyone";
    c_802_alone => "c/802_alone";
    c_410_sometimes => "c/410_sometimes";
    f77_101_messages => "f77/101_messages";
    f77_102_sentinels => "f77/102_sentinels";
    f77_103_characters => "f77/103_characters";
    f77_104_communicators => "f77/104_communicators";
    f90_101_messages => "f90/101_messages";
    f90_102_sentinels => "f90/102_sentinels";
    f90_103_characters => "f90/103_characters";
    f90_104_communicators => "f90/104_communicators";
    f90_106_request_ledger => "f90/106_request_ledger";
    f08_101_messages => "f08/101_messages";
    f08_102_sentinels => "f08/102_sentinels";
    f08_103_characters => "f08/103_characters";
    f08_104_communicators => "f08/104_communicators";
    f08_105_sections => "f08/105_sections";
    python_201_pickle => "python/201_pickle";
    python_202_buffers => "python/202_buffers";
    python_203_communicators => "python/203_communicators";
}

#[test]
fn every_program_is_listed_here() {
    let there: Vec<String> = Program::all().into_iter().map(|program| program.name).collect();
    let missing: Vec<&String> = there.iter().filter(|name| !LISTED.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "add to the list above: {missing:?}");
}

fn unchanged(name: &str) {
    let program = Program::find(name);
    for_every_mpi_in_pairs(|mpi| match program.build(mpi) {
        Err(reason) => not_applicable(format!("{}: {reason}", mpi.name)),
        Ok(_) => unchanged_with(mpi, &program),
    });
}

fn unchanged_with(mpi: &Mpi, program: &Program) {
    let mut bare = run_bare(mpi, program);
    if program.status == Some(0) {
        let (recorded, said) = run_recorded(mpi, program);
        if let Some(difference) = bare.difference(&recorded) {
            panic!("{}, {}: {difference}{said}", program.name, mpi.name);
        }
        return;
    }
    // A failing run is ended by its launcher, which races with its own messages and at times with the run's output and
    // status: a few runs of either kind show what may come. What Sintonia changes, it changes in all of them.
    let mut difference = String::new();
    for _ in 0..5 {
        let (recorded, said) = run_recorded(mpi, program);
        match bare.new_differences(&recorded) {
            None => return,
            Some(news) => difference = news + &said,
        }
        let again = run_bare(mpi, program);
        bare.stderr.extend(again.stderr);
        (bare.status, bare.stdout) = (again.status, again.stdout);
    }
    panic!("{}, {}: {difference}", program.name, mpi.name);
}

fn run_recorded(mpi: &Mpi, program: &Program) -> (NormalizedRun, String) {
    let recording = Recording::record(mpi, program, &[]);
    (NormalizedRun::new(&recording.run, recording.folder()), recording.run.text())
}

/// Runs it without Sintonia, and makes sure that the program itself is right.
fn run_bare(mpi: &Mpi, program: &Program) -> NormalizedRun {
    let folder = fresh_dir();
    let outcome = program.run_bare(mpi, folder.path());
    assert!(!outcome.timed_out, "{} does not end, even without Sintonia\n{}", program.name, outcome.text());
    let fails = outcome.status != 0;
    assert_eq!(fails, program.status != Some(0), "{} without Sintonia\n{}", program.name, outcome.text());
    NormalizedRun::new(&outcome, folder.path())
}
