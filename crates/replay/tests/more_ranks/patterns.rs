//! Which patterns can be extrapolated, and which are rejected.

use super::*;

fn sides(ranks: u32) -> (i32, i32) {
    let rows = (1..=ranks).filter(|rows| ranks.is_multiple_of(*rows) && rows * rows >= ranks).min().unwrap();
    (rows as i32, (ranks / rows) as i32)
}

fn chain(player: &mut Player) {
    let (here, last) = (player.here(), player.ranks as i32 - 1);
    for _ in 0..20 {
        player.compute(5000);
        if here > 0 {
            player.receive(10, here - 1, 1, 800);
        }
        player.compute(3000);
        if here < last {
            player.send(20, here + 1, 1, 800);
        }
    }
    player.together(30, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
}

#[test]
fn a_chain_goes_on() {
    let pattern = check(&[4, 8, 16], 64, chain);
    let text = pattern.describe();
    assert!(text.starts_with("1-D grid (4, 8, 16), open\non all ranks: allreduce\n"), "{text}");
    assert!(text.contains("made.c:10 MPI_Recv from rank -1"), "{text}");
    assert!(pattern.ambiguities(64).is_empty(), "{:?}", pattern.ambiguities(64));
}

#[test]
fn even_ranks_may_send_first_and_odd_ones_receive_first() {
    check(&[4, 6, 10], 33, |player| {
        let (here, last) = (player.here(), player.ranks as i32 - 1);
        for _ in 0..7 {
            if here % 2 == 0 {
                if here < last {
                    player.send(10, here + 1, 0, 64);
                    player.receive(11, here + 1, 0, 64);
                }
            } else {
                player.receive(12, here - 1, 0, 64);
                player.send(13, here - 1, 0, 64);
            }
        }
    });
}

/// The stencil of `apps/stencil.c`: a plate of n x n points in balanced blocks.
pub(crate) fn plate(player: &mut Player) {
    let (rows, columns) = sides(player.ranks);
    let (row, column) = (player.here() / columns, player.here() % columns);
    let at = |row: i32, column: i32| {
        if (0..rows).contains(&row) && (0..columns).contains(&column) { row * columns + column } else { NOBODY }
    };
    let share = |n: i32, parts: i32, part: i32| 8 * (n / parts + i32::from(part < n % parts)) as u64;
    let (wide, high) = (share(1001, columns, column), share(1001, rows, row));
    let neighbours = [(at(row - 1, column), wide), (at(row + 1, column), wide), (at(row, column - 1), high), (at(row, column + 1), high)];
    for step in 0..40 {
        player.compute(100_000);
        (0..4).for_each(|n| player.ireceive(10 + n, neighbours[n as usize].0, 0, neighbours[n as usize].1));
        (0..4).for_each(|n| player.isend(20 + n, neighbours[n as usize].0, 0, neighbours[n as usize].1));
        player.wait_all(30);
        if step % 10 == 9 {
            player.together(40, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
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
    assert_same(&pattern.schedule(15, IntervalBound::Middle).unwrap(), &record(15, plate).recording);
}

#[test]
fn one_recording_is_enough_where_the_grid_shows() {
    check(&[16], 64, |player| {
        let (rows, columns) = sides(player.ranks);
        let (row, column) = (player.here() / columns, player.here() % columns);
        for _ in 0..5 {
            for (direction, (to_row, to_column)) in
                [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)].into_iter().enumerate()
            {
                if (0..rows).contains(&to_row) && (0..columns).contains(&to_column) {
                    player.send_receive(10 + direction as u32, to_row * columns + to_column, to_row * columns + to_column, 3, 4096);
                }
            }
        }
    });
}

#[test]
fn a_loop_over_existing_neighbours_is_extrapolated() {
    check(&[4, 8, 16], 64, |player| {
        let (rows, columns) = sides(player.ranks);
        let (row, column) = (player.here() / columns, player.here() % columns);
        let around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)];
        let there = |(row, column): &(i32, i32)| (0..rows).contains(row) && (0..columns).contains(column);
        for _ in 0..6 {
            for (row, column) in around.into_iter().filter(there) {
                player.ireceive(10, row * columns + column, 5, 640);
                player.isend(11, row * columns + column, 5, 640);
            }
            player.compute(1000);
            player.wait_all(12);
        }
    });
}

#[test]
fn a_wavefront_is_extrapolated() {
    check(&[6, 12, 20], 48, |player| {
        let (rows, columns) = sides(player.ranks);
        let (row, column) = (player.here() / columns, player.here() % columns);
        for _ in 0..9 {
            for _ in 0..4 {
                if row > 0 {
                    player.receive(10, player.here() - columns, 1, 400);
                }
                if column > 0 {
                    player.receive(11, player.here() - 1, 1, 200);
                }
                player.compute(7000);
                if row < rows - 1 {
                    player.send(12, player.here() + columns, 1, 400);
                }
                if column < columns - 1 {
                    player.send(13, player.here() + 1, 1, 200);
                }
            }
            player.together(20, "MPI_Allreduce", 0, i32::MIN, [40, 40]);
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
    let torus = |player: &mut Player| {
        let sides = cube_sides(player.ranks);
        let here = player.here();
        let place = [here / (sides[1] * sides[2]), here / sides[2] % sides[1], here % sides[2]];
        for _ in 0..5 {
            player.compute(20_000);
            for dimension in 0..3 {
                let to = |step: i32| {
                    let mut place = place;
                    place[dimension] = (place[dimension] + step).rem_euclid(sides[dimension]);
                    (place[0] * sides[1] + place[1]) * sides[2] + place[2]
                };
                player.send_receive(10 + dimension as u32, to(1), to(-1), 0, 1 << 12);
                player.send_receive(20 + dimension as u32, to(-1), to(1), 0, 1 << 12);
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
    check(&[8, 16, 64], 512, |player| {
        let sides = cube_sides(player.ranks);
        let here = player.here();
        let place = [here / (sides[1] * sides[2]), here / sides[2] % sides[1], here % sides[2]];
        for _ in 0..3 {
            for dimension in 0..3 {
                let face = 8 * 64 * 64 / (0..3).filter(|other| *other != dimension).map(|other| sides[other]).product::<i32>();
                let to = |step: i32| {
                    let mut place = place;
                    place[dimension] += step;
                    let there = (0..sides[dimension]).contains(&place[dimension]);
                    if there { (place[0] * sides[1] + place[1]) * sides[2] + place[2] } else { NOBODY }
                };
                let line = 10 + 10 * dimension as u32;
                player.ireceive(line, to(-1), 1, face as u64);
                player.ireceive(line + 1, to(1), 2, face as u64);
                player.isend(line + 2, to(1), 1, face as u64);
                player.isend(line + 3, to(-1), 2, face as u64);
                player.wait_all(line + 4);
            }
        }
    });
}

#[test]
fn an_exchange_over_a_hypercube_has_more_rounds_with_more_ranks() {
    let cube = |player: &mut Player| {
        for _ in 0..10 {
            let mut bit = 1;
            while bit < player.ranks {
                let peer = (player.rank ^ bit) as i32;
                player.send_receive(10, peer, peer, 7, u64::from(8 * bit));
                bit *= 2;
            }
            player.together(20, "MPI_Barrier", 0, i32::MIN, [0, 0]);
        }
    };
    let pattern = check(&[4, 8, 16], 64, cube);
    assert!(pattern.describe().contains("for hypercube: rank xor 1, 2, 4 .."), "{}", pattern.describe());
    let error = pattern.schedule(48, IntervalBound::Middle).unwrap_err();
    assert!(error.to_string().contains("48 is not a power of two"), "{error}");
}

#[test]
fn rounds_over_a_hypercube_are_found_where_nothing_stands_between_them() {
    check(&[4, 8, 16], 32, |player| {
        for _ in 0..4 {
            let mut bit = player.ranks / 2;
            while bit > 0 {
                let peer = (player.rank ^ bit) as i32;
                player.isend(10, peer, 7, 128);
                player.receive(11, peer, 7, 128);
                player.wait(12);
                bit /= 2;
            }
        }
    });
}

#[test]
fn trees_grow_deeper() {
    let pattern = check(&[4, 8, 16], 100, |player| {
        for _ in 0..3 {
            let mut bit = 1;
            while bit < player.ranks {
                if player.rank & bit != 0 {
                    player.send(11, (player.rank - bit) as i32, 0, 80);
                    break;
                } else if player.rank + bit < player.ranks {
                    player.receive(10, (player.rank + bit) as i32, 0, 80);
                    player.compute(400);
                }
                bit *= 2;
            }
            if player.rank > 0 {
                player.receive(20, (player.rank & (player.rank - 1)) as i32, 1, 80);
            }
            while bit > 0 {
                if player.rank % (2 * bit) == 0
                    && player.rank + bit < player.ranks
                    && (player.rank == 0 || bit < player.rank & player.rank.wrapping_neg())
                {
                    player.send(21, (player.rank + bit) as i32, 1, 80);
                }
                bit /= 2;
            }
            player.compute(1000);
        }
    });
    assert!(pattern.describe().contains("parent in a binomial tree"), "{}", pattern.describe());
}

#[test]
fn rows_and_columns_have_communicators_of_their_own() {
    let pattern = check(&[4, 8, 16], 64, |player| {
        let (_, columns) = sides(player.ranks);
        let columns = columns as u32;
        let row = player.split(10, |rank| rank / columns);
        let column = player.split(11, |rank| rank % columns);
        let (first, here) = (player.rank / columns * columns, player.rank % columns);
        for _ in 0..6 {
            player.together(20, "MPI_Allreduce", row, i32::MIN, [64, 64]);
            player.together(21, "MPI_Bcast", column, (player.rank % columns) as i32, [4096, 0]);
            for step in 1..columns {
                let (to, from) = (first + (here + step) % columns, first + (here + columns - step) % columns);
                player.send_receive(22, to as i32, from as i32, 9, 256);
            }
        }
    });
    let text = pattern.describe();
    assert!(text.contains("on rows of the grid: allreduce\non columns of the grid: bcast\n"), "{text}");
}

#[test]
fn an_extrapolated_run_has_communicators_and_call_sites_like_a_recording() {
    let program = |player: &mut Player| {
        let columns = sides(player.ranks).1 as u32;
        let row = player.split(10, |rank| rank / columns);
        (0..6).for_each(|_| player.together(20, "MPI_Allreduce", row, i32::MIN, [64, 64]));
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
    let pattern = check(&[4, 8, 16], 64, |player| {
        let workers = player.ranks as i32 - 1;
        for _ in 0..5 {
            if player.rank == 0 {
                (1..=workers).for_each(|worker| player.send(10, worker, 1, 1000));
                (1..=workers).for_each(|worker| player.receive(11, worker, 2, 50));
            } else {
                player.receive(12, 0, 1, 1000);
                player.compute(1_000_000);
                player.send(13, 0, 2, 50);
            }
        }
        player.together(20, "MPI_Gather", 0, 0, [16, if player.rank == 0 { 16 * u64::from(player.ranks) } else { 0 }]);
    });
    assert!(pattern.describe().contains("5 for rank 0, else 0 times:\n    for all other ranks in turn:\n"), "{}", pattern.describe());
}

/// A master sends work to all workers and receives results in arbitrary order.
fn farm(player: &mut Player, take: fn(&mut Player, i32)) {
    let workers = player.ranks as i32 - 1;
    for round in 0..5 {
        if player.rank == 0 {
            (1..=workers).for_each(|worker| player.send(10, worker, 1, 1000));
            (1..=workers).for_each(|place| take(player, (place * 7 + round) % workers + 1));
        } else {
            player.receive(12, 0, 1, 1000);
            player.send(13, 0, 2, 50);
        }
    }
}

#[test]
fn a_master_may_take_results_in_any_order() {
    let program = |player: &mut Player| farm(player, |player, worker| player.receive_from_anyone(11, worker, 2, 50));
    let pattern = recognise(&family(&[4, 6, 14], program).recordings, &ExtrapolationOptions::default()).unwrap();
    let told = pattern.schedule(20, IntervalBound::Middle).unwrap();
    let recorded = record(20, program);
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
    let program = |player: &mut Player| farm(player, |player, worker| player.receive(11, worker, 2, 50));
    let error = recognise(&family(&[4, 6, 14], program).recordings, &ExtrapolationOptions::default()).unwrap_err().to_string();
    assert!(error.contains("made.c:11") && error.contains("the peers of MPI_Recv"), "{error}");
}

#[test]
fn all_to_all_is_recognised() {
    let all = |player: &mut Player| {
        let ranks = player.ranks as i32;
        for _ in 0..3 {
            for peer in (0..ranks).filter(|peer| *peer != player.here()).collect::<Vec<_>>() {
                player.ireceive(10, peer, 0, 512);
            }
            for step in 1..ranks {
                player.isend(11, (player.here() + step) % ranks, 0, 512);
            }
            player.wait_all(12);
        }
        player.together(20, "MPI_Alltoall", 0, i32::MIN, [8 * u64::from(player.ranks), 8 * u64::from(player.ranks)]);
    };
    check(&[4, 8, 16], 64, all);
    check(&[3, 5, 7], 20, all);
}

#[test]
fn requests_may_be_waited_for_one_by_one() {
    check(&[4, 8, 16], 30, |player| {
        let ranks = player.ranks as i32;
        for _ in 0..3 {
            (1..ranks).for_each(|step| player.ireceive(10, (player.here() + ranks - step) % ranks, 0, 512));
            (1..ranks).for_each(|step| player.isend(11, (player.here() + step) % ranks, 0, 512));
            (1..ranks).for_each(|_| player.wait(12));
            player.wait_all(13);
        }
    });
}

#[test]
fn a_ring_goes_around() {
    let pattern = check(&[4, 8, 16], 50, |player| {
        let ranks = player.ranks as i32;
        let (next, before) = ((player.here() + 1) % ranks, (player.here() + ranks - 1) % ranks);
        for _ in 1..ranks {
            player.compute(1000);
            player.send_receive(10, next, before, 0, 65536 / 16);
        }
    });
    assert!(pattern.describe().contains("1 (p - 1) times"), "{}", pattern.describe());
    assert!(pattern.ambiguities(50).is_empty(), "{:?}", pattern.ambiguities(50));
}

#[test]
fn persistent_requests_are_started_again_and_again() {
    check(&[4, 8, 16], 40, |player| {
        let (here, last) = (player.here(), player.ranks as i32 - 1);
        if here > 0 {
            player.receive_init(10, here - 1, 0, 64);
            player.send_init(11, here - 1, 1, 64);
        }
        if here < last {
            player.receive_init(12, here + 1, 1, 64);
            player.send_init(13, here + 1, 0, 64);
        }
        for _ in 0..12 {
            player.start_all(20);
            player.compute(500);
            player.wait_all(21);
        }
    });
}

#[test]
fn blocks_on_the_diagonal_keep_to_themselves_and_others_are_transposed() {
    let transpose = |player: &mut Player| {
        let (rows, columns) = sides(player.ranks);
        let (row, column) = (player.here() / columns, player.here() % columns);
        for _ in 0..4 {
            player.send_receive(10, column * rows + row, column * rows + row, 0, 8192);
        }
    };
    let pattern = check(&[4, 9, 16], 64, transpose);
    assert!(matches!(pattern.schedule(32, IntervalBound::Middle), Err(ExtrapolationError::Rule { .. })));
}

#[test]
fn a_grid_with_one_fixed_side_refuses_what_does_not_fit() {
    let pattern = check(&[6, 9, 15], 30, |player| {
        let (here, ranks) = (player.here(), player.ranks as i32);
        for _ in 0..3 {
            if here % 3 < 2 {
                player.send(10, here + 1, 0, 10);
            }
            if here % 3 > 0 {
                player.receive(11, here - 1, 0, 10);
            }
            if here + 3 < ranks {
                player.send(12, here + 3, 0, 20);
            }
            if here >= 3 {
                player.receive(13, here - 3, 0, 20);
            }
        }
    });
    assert!(matches!(pattern.schedule(32, IntervalBound::Middle), Err(ExtrapolationError::Grid { ranks: 32, .. })));
    assert_eq!(pattern.schedule(0, IntervalBound::Middle).unwrap_err(), ExtrapolationError::NoRanks);
}

#[test]
fn random_peers_are_rejected_with_call_site_and_examples() {
    let scattered = |player: &mut Player| {
        let peer = (player.rank * 5 + 3 + player.ranks / 3) % player.ranks;
        let source = (0..player.ranks).find(|rank| (rank * 5 + 3 + player.ranks / 3) % player.ranks == player.rank);
        player.send_receive(42, peer as i32, source.map_or(NOBODY, |source| source as i32), 0, 99);
    };
    let error = recognise(&family(&[4, 8, 16], scattered).recordings, &ExtrapolationOptions::default()).unwrap_err();
    assert!(matches!(error, RecognitionError::Call { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("made.c:42: no pattern explains the peers of MPI_Sendrecv: of 4 ranks, rank 0: "), "{text}");
    assert!(text.contains("hypercubes"), "{text}");
}

#[test]
fn irregular_loops_are_refused() {
    let restless = |player: &mut Player| {
        for _ in 0..(player.rank * 7 + player.ranks * 3) % 11 + 1 {
            player.together(10, "MPI_Allreduce", 0, i32::MIN, [8, 8]);
        }
        player.together(20, "MPI_Barrier", 0, i32::MIN, [0, 0]);
    };
    let error = recognise(&family(&[4, 8, 16], restless).recordings, &ExtrapolationOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the iteration count of the loop"), "{error}");
    assert!(matches!(recognise(&[], &ExtrapolationOptions::default()), Err(RecognitionError::NoRecording)));
}
