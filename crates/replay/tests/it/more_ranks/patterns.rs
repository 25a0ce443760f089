//! Which patterns can be extrapolated, and which are rejected.

use super::*;

fn sides(ranks: u32) -> (i32, i32) {
    let rows = (1..=ranks).filter(|rows| ranks.is_multiple_of(*rows) && rows * rows >= ranks).min().unwrap();
    (rows as i32, (ranks / rows) as i32)
}

fn chain(process: &mut TestProcess) {
    let (here, last) = (process.signed_rank(), process.ranks as i32 - 1);
    for _ in 0..20 {
        process.compute(5000);
        if here > 0 {
            process.receive(10, here - 1, 1, 800);
        }
        process.compute(3000);
        if here < last {
            process.send(20, here + 1, 1, 800);
        }
    }
    process.collective(30, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
}

#[test]
fn a_chain_goes_on() {
    let pattern = check(&[4, 8, 16], 64, chain);
    let text = pattern.describe();
    assert!(text.starts_with("1-D grid (4, 8, 16), open\non all ranks: allreduce\n"), "{text}");
    assert!(text.contains("program.c:10 MPI_Recv from rank -1"), "{text}");
    assert!(pattern.ambiguities(64).is_empty(), "{:?}", pattern.ambiguities(64));
}

#[test]
fn even_ranks_may_send_first_and_odd_ones_receive_first() {
    check(&[4, 6, 10], 33, |process| {
        let (here, last) = (process.signed_rank(), process.ranks as i32 - 1);
        for _ in 0..7 {
            if here % 2 == 0 {
                if here < last {
                    process.send(10, here + 1, 0, 64);
                    process.receive(11, here + 1, 0, 64);
                }
            } else {
                process.receive(12, here - 1, 0, 64);
                process.send(13, here - 1, 0, 64);
            }
        }
    });
}

/// The stencil of `apps/stencil.c`: a plate of n x n points in balanced blocks.
pub(crate) fn plate(process: &mut TestProcess) {
    let (rows, columns) = sides(process.ranks);
    let (row, column) = (process.signed_rank() / columns, process.signed_rank() % columns);
    let at = |row: i32, column: i32| {
        if (0..rows).contains(&row) && (0..columns).contains(&column) { row * columns + column } else { PROC_NULL }
    };
    let share = |n: i32, parts: i32, part: i32| 8 * (n / parts + i32::from(part < n % parts)) as u64;
    let (wide, high) = (share(1001, columns, column), share(1001, rows, row));
    let neighbours = [(at(row - 1, column), wide), (at(row + 1, column), wide), (at(row, column - 1), high), (at(row, column + 1), high)];
    for step in 0..40 {
        process.compute(100_000);
        (0..4).for_each(|n| process.irecv(10 + n, neighbours[n as usize].0, 0, neighbours[n as usize].1));
        (0..4).for_each(|n| process.isend(20 + n, neighbours[n as usize].0, 0, neighbours[n as usize].1));
        process.wait_all(30);
        if step % 10 == 9 {
            process.collective(40, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
        }
    }
}

#[test]
fn a_plate_in_blocks_is_extrapolated_with_its_block_borders() {
    let pattern = check(&[4, 8, 16], 64, plate);
    let text = pattern.describe();
    assert!(text.starts_with("2-D grid (2 x 2, 4 x 2, 4 x 4), row-major, balanced sides, open\n"), "{text}");
    assert!(text.contains("MPI_Isend to neighbour (-1, 0) or MPI_PROC_NULL, a share of 8008 along dimension 2 bytes"), "{text}");
    assert!(text.contains("  4 times:\n    10 times:\n"), "ten steps, then an agreement: {text}");
    assert_same(&pattern.schedule(15, IntervalBound::Middle).unwrap(), &record_program(15, plate).recording);
}

#[test]
fn one_recording_is_enough_where_the_grid_shows() {
    check(&[16], 64, |process| {
        let (rows, columns) = sides(process.ranks);
        let (row, column) = (process.signed_rank() / columns, process.signed_rank() % columns);
        for _ in 0..5 {
            for (direction, (to_row, to_column)) in
                [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)].into_iter().enumerate()
            {
                if (0..rows).contains(&to_row) && (0..columns).contains(&to_column) {
                    process.send_receive(10 + direction as u32, to_row * columns + to_column, to_row * columns + to_column, 3, 4096);
                }
            }
        }
    });
}

#[test]
fn a_loop_over_existing_neighbours_is_extrapolated() {
    check(&[4, 8, 16], 64, |process| {
        let (rows, columns) = sides(process.ranks);
        let (row, column) = (process.signed_rank() / columns, process.signed_rank() % columns);
        let around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)];
        let there = |(row, column): &(i32, i32)| (0..rows).contains(row) && (0..columns).contains(column);
        for _ in 0..6 {
            for (row, column) in around.into_iter().filter(there) {
                process.irecv(10, row * columns + column, 5, 640);
                process.isend(11, row * columns + column, 5, 640);
            }
            process.compute(1000);
            process.wait_all(12);
        }
    });
}

#[test]
fn a_wavefront_is_extrapolated() {
    check(&[6, 12, 20], 48, |process| {
        let (rows, columns) = sides(process.ranks);
        let (row, column) = (process.signed_rank() / columns, process.signed_rank() % columns);
        for _ in 0..9 {
            for _ in 0..4 {
                if row > 0 {
                    process.receive(10, process.signed_rank() - columns, 1, 400);
                }
                if column > 0 {
                    process.receive(11, process.signed_rank() - 1, 1, 200);
                }
                process.compute(7000);
                if row < rows - 1 {
                    process.send(12, process.signed_rank() + columns, 1, 400);
                }
                if column < columns - 1 {
                    process.send(13, process.signed_rank() + 1, 1, 200);
                }
            }
            process.collective(20, "MPI_Allreduce", 0, i32::MIN, [40, 40]);
        }
    });
}

fn cube_sides(ranks: u32) -> [i32; 3] {
    let all = (1..=ranks)
        .flat_map(|a| (1..=ranks / a).map(move |b| [a, b, ranks / a / b]))
        .filter(|[a, b, c]| a * b * c == ranks && a >= b && b >= c);
    all.min_by_key(|[a, _, c]| (a - c, *a)).unwrap().map(|side| side as i32)
}

#[test]
fn a_three_dimensional_torus_is_extrapolated() {
    let torus = |process: &mut TestProcess| {
        let sides = cube_sides(process.ranks);
        let here = process.signed_rank();
        let place = [here / (sides[1] * sides[2]), here / sides[2] % sides[1], here % sides[2]];
        for _ in 0..5 {
            process.compute(20_000);
            for dimension in 0..3 {
                let to = |step: i32| {
                    let mut place = place;
                    place[dimension] = (place[dimension] + step).rem_euclid(sides[dimension]);
                    (place[0] * sides[1] + place[1]) * sides[2] + place[2]
                };
                process.send_receive(10 + dimension as u32, to(1), to(-1), 0, 1 << 12);
                process.send_receive(20 + dimension as u32, to(-1), to(1), 0, 1 << 12);
            }
        }
    };
    let pattern = check(&[27, 64], 125, torus);
    assert!(pattern.describe().starts_with("3-D grid (3 x 3 x 3, 4 x 4 x 4), row-major"), "{}", pattern.describe());
    assert!(pattern.ambiguities(125).is_empty(), "{:?}", pattern.ambiguities(125));
    let small = recognise(&family(&[4, 8], torus).recordings, &ExtrapolationOptions::default()).unwrap();
    assert!(!small.ambiguities(64).is_empty(), "on a side of two ranks nobody can tell left from right");
}

#[test]
fn an_open_cube_is_extrapolated_and_faces_shrink_with_their_sides() {
    check(&[8, 16, 64], 512, |process| {
        let sides = cube_sides(process.ranks);
        let here = process.signed_rank();
        let place = [here / (sides[1] * sides[2]), here / sides[2] % sides[1], here % sides[2]];
        for _ in 0..3 {
            for dimension in 0..3 {
                let face = 8 * 64 * 64 / (0..3).filter(|other| *other != dimension).map(|other| sides[other]).product::<i32>();
                let to = |step: i32| {
                    let mut place = place;
                    place[dimension] += step;
                    let there = (0..sides[dimension]).contains(&place[dimension]);
                    if there { (place[0] * sides[1] + place[1]) * sides[2] + place[2] } else { PROC_NULL }
                };
                let line = 10 + 10 * dimension as u32;
                process.irecv(line, to(-1), 1, face as u64);
                process.irecv(line + 1, to(1), 2, face as u64);
                process.isend(line + 2, to(1), 1, face as u64);
                process.isend(line + 3, to(-1), 2, face as u64);
                process.wait_all(line + 4);
            }
        }
    });
}

#[test]
fn an_exchange_over_a_hypercube_has_more_rounds_with_more_ranks() {
    let cube = |process: &mut TestProcess| {
        for _ in 0..10 {
            let mut bit = 1;
            while bit < process.ranks {
                let peer = (process.rank ^ bit) as i32;
                process.send_receive(10, peer, peer, 7, u64::from(8 * bit));
                bit *= 2;
            }
            process.collective(20, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
    };
    let pattern = check(&[4, 8, 16], 64, cube);
    assert!(pattern.describe().contains("for hypercube: rank xor 1, 2, 4 .."), "{}", pattern.describe());
    let error = pattern.schedule(48, IntervalBound::Middle).unwrap_err();
    assert!(error.to_string().contains("48 is not a power of two"), "{error}");
}

#[test]
fn rounds_over_a_hypercube_are_found_where_nothing_stands_between_them() {
    check(&[4, 8, 16], 32, |process| {
        for _ in 0..4 {
            let mut bit = process.ranks / 2;
            while bit > 0 {
                let peer = (process.rank ^ bit) as i32;
                process.isend(10, peer, 7, 128);
                process.receive(11, peer, 7, 128);
                process.wait(12);
                bit /= 2;
            }
        }
    });
}

#[test]
fn trees_grow_deeper() {
    let pattern = check(&[4, 8, 16], 100, |process| {
        for _ in 0..3 {
            let mut bit = 1;
            while bit < process.ranks {
                if process.rank & bit != 0 {
                    process.send(11, (process.rank - bit) as i32, 0, 80);
                    break;
                } else if process.rank + bit < process.ranks {
                    process.receive(10, (process.rank + bit) as i32, 0, 80);
                    process.compute(400);
                }
                bit *= 2;
            }
            if process.rank > 0 {
                process.receive(20, (process.rank & (process.rank - 1)) as i32, 1, 80);
            }
            while bit > 0 {
                if process.rank % (2 * bit) == 0
                    && process.rank + bit < process.ranks
                    && (process.rank == 0 || bit < process.rank & process.rank.wrapping_neg())
                {
                    process.send(21, (process.rank + bit) as i32, 1, 80);
                }
                bit /= 2;
            }
            process.compute(1000);
        }
    });
    assert!(pattern.describe().contains("parent in a binomial tree"), "{}", pattern.describe());
}

#[test]
fn rows_and_columns_have_communicators_of_their_own() {
    let pattern = check(&[4, 8, 16], 64, |process| {
        let (_, columns) = sides(process.ranks);
        let columns = columns as u32;
        let row = process.split(10, |rank| rank / columns);
        let column = process.split(11, |rank| rank % columns);
        let (first, here) = (process.rank / columns * columns, process.rank % columns);
        for _ in 0..6 {
            process.collective(20, "MPI_Allreduce", row, i32::MIN, [64, 64]);
            process.collective(21, "MPI_Bcast", column, (process.rank % columns) as i32, [4096, 0]);
            for step in 1..columns {
                let (to, from) = (first + (here + step) % columns, first + (here + columns - step) % columns);
                process.send_receive(22, to as i32, from as i32, 9, 256);
            }
        }
    });
    let text = pattern.describe();
    assert!(text.contains("on rows of the grid: allreduce\non columns of the grid: bcast\n"), "{text}");
}

#[test]
fn an_extrapolated_run_has_communicators_and_call_sites_like_a_recording() {
    let program = |process: &mut TestProcess| {
        let columns = sides(process.ranks).1 as u32;
        let row = process.split(10, |rank| rank / columns);
        (0..6).for_each(|_| process.collective(20, "MPI_Allreduce", row, i32::MIN, [64, 64]));
    };
    let family = family(&[4, 8, 16], program);
    let pattern = recognise(&family.recordings, &ExtrapolationOptions::default()).unwrap();
    let told = pattern.schedule(64, IntervalBound::Middle).unwrap();
    let like = &family.recordings[0].header;
    let header = told.header(like);
    let defined: Vec<(u32, &str, &str)> = (0..)
        .zip(&header.communicators)
        .filter(|(_, one)| !one.members.is_empty())
        .map(|(n, one)| (n, &*one.made_by, &*one.members))
        .collect();
    assert_eq!(defined.first(), Some(&(0, "MPI_COMM_WORLD", "0-63")));
    let rows: Vec<&(u32, &str, &str)> = defined.iter().filter(|(_, made_by, _)| *made_by == "MPI_Comm_split").collect();
    assert_eq!((rows.len(), rows[1].2), (8, "8-15"), "{defined:?}");
    assert!(rows.iter().all(|(number, ..)| !told.members(*number).is_empty()));
    assert!(told.members(1).is_empty(), "everyone is in communicator 0, and in no other one of that kind");
    assert_eq!((header.size, header.sites.len()), (64, told.site_count() as usize));
    assert!((0..told.site_count()).all(|site| header.sites[site as usize] == like.sites[site as usize]));
}

#[test]
fn a_master_visits_every_worker() {
    let pattern = check(&[4, 8, 16], 64, |process| {
        let workers = process.ranks as i32 - 1;
        for _ in 0..5 {
            if process.rank == 0 {
                (1..=workers).for_each(|worker| process.send(10, worker, 1, 1000));
                (1..=workers).for_each(|worker| process.receive(11, worker, 2, 50));
            } else {
                process.receive(12, 0, 1, 1000);
                process.compute(1_000_000);
                process.send(13, 0, 2, 50);
            }
        }
        process.collective(20, "MPI_Gather", 0, 0, [16, if process.rank == 0 { 16 * u64::from(process.ranks) } else { 0 }]);
    });
    assert!(pattern.describe().contains("5 for rank 0, else 0 times:\n    for all other ranks in turn:\n"), "{}", pattern.describe());
}

/// A master sends work to all workers and receives results in arbitrary order.
fn farm(process: &mut TestProcess, take: fn(&mut TestProcess, i32)) {
    let workers = process.ranks as i32 - 1;
    for round in 0..5 {
        if process.rank == 0 {
            (1..=workers).for_each(|worker| process.send(10, worker, 1, 1000));
            (1..=workers).for_each(|place| take(process, (place * 7 + round) % workers + 1));
        } else {
            process.receive(12, 0, 1, 1000);
            process.send(13, 0, 2, 50);
        }
    }
}

#[test]
fn a_master_may_take_results_in_any_order() {
    let program = |process: &mut TestProcess| farm(process, |process, worker| process.receive_any(11, worker, 2, 50));
    let pattern = recognise(&family(&[4, 6, 14], program).recordings, &ExtrapolationOptions::default()).unwrap();
    let told = pattern.schedule(20, IntervalBound::Middle).unwrap();
    let recorded = record_program(20, program);
    for rank in 0..20 {
        let in_order = |schedule: &dyn Schedule| {
            let mut all: Vec<Seen> = calls(schedule, rank).0.into_iter().map(|(seen, _)| seen).collect();
            all.sort_by_key(|seen| (seen.site.clone(), seen.ends));
            all
        };
        assert_eq!(in_order(&told), in_order(&recorded.recording), "rank {rank}");
    }
}

#[test]
fn a_receive_with_a_source_must_be_in_order() {
    let program = |process: &mut TestProcess| farm(process, |process, worker| process.receive(11, worker, 2, 50));
    let error = recognise(&family(&[4, 6, 14], program).recordings, &ExtrapolationOptions::default()).unwrap_err().to_string();
    assert!(error.contains("program.c:11") && error.contains("the peers of MPI_Recv"), "{error}");
}

#[test]
fn all_to_all_is_recognised() {
    let all = |process: &mut TestProcess| {
        let ranks = process.ranks as i32;
        for _ in 0..3 {
            for peer in (0..ranks).filter(|peer| *peer != process.signed_rank()).collect::<Vec<_>>() {
                process.irecv(10, peer, 0, 512);
            }
            for step in 1..ranks {
                process.isend(11, (process.signed_rank() + step) % ranks, 0, 512);
            }
            process.wait_all(12);
        }
        process.collective(20, "MPI_Alltoall", 0, i32::MIN, [8 * u64::from(process.ranks), 8 * u64::from(process.ranks)]);
    };
    check(&[4, 8, 16], 64, all);
    check(&[3, 5, 7], 20, all);
}

#[test]
fn requests_may_be_waited_for_one_by_one() {
    check(&[4, 8, 16], 30, |process| {
        let ranks = process.ranks as i32;
        for _ in 0..3 {
            (1..ranks).for_each(|step| process.irecv(10, (process.signed_rank() + ranks - step) % ranks, 0, 512));
            (1..ranks).for_each(|step| process.isend(11, (process.signed_rank() + step) % ranks, 0, 512));
            (1..ranks).for_each(|_| process.wait(12));
            process.wait_all(13);
        }
    });
}

#[test]
fn a_ring_goes_around() {
    let pattern = check(&[4, 8, 16], 50, |process| {
        let ranks = process.ranks as i32;
        let (next, before) = ((process.signed_rank() + 1) % ranks, (process.signed_rank() + ranks - 1) % ranks);
        for _ in 1..ranks {
            process.compute(1000);
            process.send_receive(10, next, before, 0, 65536 / 16);
        }
    });
    assert!(pattern.describe().contains("1 (p - 1) times"), "{}", pattern.describe());
    assert!(pattern.ambiguities(50).is_empty(), "{:?}", pattern.ambiguities(50));
}

#[test]
fn persistent_requests_are_started_again_and_again() {
    check(&[4, 8, 16], 40, |process| {
        let (here, last) = (process.signed_rank(), process.ranks as i32 - 1);
        if here > 0 {
            process.recv_init(10, here - 1, 0, 64);
            process.send_init(11, here - 1, 1, 64);
        }
        if here < last {
            process.recv_init(12, here + 1, 1, 64);
            process.send_init(13, here + 1, 0, 64);
        }
        for _ in 0..12 {
            process.start_all(20);
            process.compute(500);
            process.wait_all(21);
        }
    });
}

#[test]
fn blocks_on_the_diagonal_keep_to_themselves_and_others_are_transposed() {
    let transpose = |process: &mut TestProcess| {
        let (rows, columns) = sides(process.ranks);
        let (row, column) = (process.signed_rank() / columns, process.signed_rank() % columns);
        for _ in 0..4 {
            process.send_receive(10, column * rows + row, column * rows + row, 0, 8192);
        }
    };
    let pattern = check(&[4, 9, 16], 64, transpose);
    assert!(matches!(pattern.schedule(32, IntervalBound::Middle), Err(ExtrapolationError::Rule { .. })));
}

#[test]
fn a_grid_with_one_fixed_side_refuses_what_does_not_fit() {
    let pattern = check(&[6, 9, 15], 30, |process| {
        let (here, ranks) = (process.signed_rank(), process.ranks as i32);
        for _ in 0..3 {
            if here % 3 < 2 {
                process.send(10, here + 1, 0, 10);
            }
            if here % 3 > 0 {
                process.receive(11, here - 1, 0, 10);
            }
            if here + 3 < ranks {
                process.send(12, here + 3, 0, 20);
            }
            if here >= 3 {
                process.receive(13, here - 3, 0, 20);
            }
        }
    });
    assert!(matches!(pattern.schedule(32, IntervalBound::Middle), Err(ExtrapolationError::Grid { ranks: 32, .. })));
    assert_eq!(pattern.schedule(0, IntervalBound::Middle).unwrap_err(), ExtrapolationError::NoRanks);
}

#[test]
fn random_peers_are_rejected_with_call_site_and_examples() {
    let scattered = |process: &mut TestProcess| {
        let peer = (process.rank * 5 + 3 + process.ranks / 3) % process.ranks;
        let source = (0..process.ranks).find(|rank| (rank * 5 + 3 + process.ranks / 3) % process.ranks == process.rank);
        process.send_receive(42, peer as i32, source.map_or(PROC_NULL, |source| source as i32), 0, 99);
    };
    let error = recognise(&family(&[4, 8, 16], scattered).recordings, &ExtrapolationOptions::default()).unwrap_err();
    assert!(matches!(error, RecognitionError::Call { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("program.c:42: no pattern explains the peers of MPI_Sendrecv: of 4 ranks, rank 0: "), "{text}");
    assert!(text.contains("hypercubes"), "{text}");
}

#[test]
fn irregular_loops_are_refused() {
    let restless = |process: &mut TestProcess| {
        for _ in 0..(process.rank * 7 + process.ranks * 3) % 11 + 1 {
            process.collective(10, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
        }
        process.collective(20, "MPI_Barrier", 0, i32::MIN, [0, 0]);
    };
    let error = recognise(&family(&[4, 8, 16], restless).recordings, &ExtrapolationOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the iteration count of the loop"), "{error}");
    assert!(matches!(recognise(&[], &ExtrapolationOptions::default()), Err(RecognitionError::NoRecording)));
}
