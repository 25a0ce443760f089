//! Whatever is measured, the file that is made from it is read back.

use std::path::Path;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sintonia_machine::bench::{
    BenchQuantity, BenchRecord, BenchSample, CostMode, HostUse, LaunchMeasurements, ProcessBinding, ProtocolThresholds, SizeLimit, assemble,
};
use sintonia_machine::{Machine, MachineMetadata, Named};

fn one<N: Named + std::fmt::Debug>() -> impl Strategy<Value = N> {
    prop::sample::select(N::ALL)
}

/// Numbers of all magnitudes: what clocks give, and what they should not.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-9.0..1.0f64, 1.0..10.0f64).prop_map(|(exponent, digits)| digits * 10f64.powi(exponent as i32)),
        1 => prop::sample::select(vec![0.0, 1e-12, -1e-9, 1.0, 1e9, 1e300, f64::MIN_POSITIVE]),
    ]
}

fn quantity() -> impl Strategy<Value = BenchQuantity> {
    let manner = prop::sample::select(vec![CostMode::Latency, CostMode::Throughput]);
    prop_oneof![
        (0..2usize, one(), one(), manner).prop_map(|(node, of, what, manner)| BenchQuantity::Compute { node, of, what, manner }),
        (0..2usize, one()).prop_map(|(node, access)| BenchQuantity::Memory { node, access }),
        (one(), one()).prop_map(|(class, what)| BenchQuantity::Message { class, what }),
        one().prop_map(|class| BenchQuantity::Overlap { class }),
        (1..9u64).prop_map(|pairs| BenchQuantity::SharedLink { pairs }),
        (one(), 2..70u64).prop_map(|(what, processes)| BenchQuantity::Group { what, processes }),
    ]
}

/// A quantity at several sizes: smooth, or all noise.
fn curve() -> impl Strategy<Value = Vec<BenchRecord>> {
    let noise = vec((prop::sample::select(SIZES.to_vec()), vec(value(), 1..30), 0.0..1e4f64), 1..6);
    let smooth = (value(), value(), vec(0.5..2.0f64, 20)).prop_map(|(start, slope, noise)| {
        let sizes = SIZES.iter().zip(noise);
        sizes.map(|(bytes, noise)| (*bytes, vec![noise * (start + slope * 1e-6 * *bytes as f64); 3], 0.0)).collect()
    });
    (quantity(), prop_oneof![noise, smooth], any::<bool>()).prop_map(|(quantity, points, left_out): (_, Vec<(u64, Vec<f64>, f64)>, _)| {
        let sample = |(bytes, values, disturbance): (u64, Vec<f64>, f64)| {
            let sample = BenchSample::from_values(quantity, bytes, &values).expect("finite values");
            BenchRecord::Sample(BenchSample { disturbance, ..sample })
        };
        let rest = left_out.then_some(BenchRecord::LeftOut(quantity, 1 << 30));
        points.into_iter().map(sample).chain(rest).collect()
    })
}

const SIZES: [u64; 20] = [0, 1, 2, 4, 8, 16, 48, 64, 96, 128, 256, 1024, 1500, 4040, 4096, 8192, 65_536, 70_000, 1 << 20, 4 << 20];

fn binding() -> impl Strategy<Value = ProcessBinding> {
    let cache = (1..4u32, 1..1u64 << 30).prop_map(|(level, bytes)| serde_json::json!({"level": level, "bytes": bytes, "cores": [0]}));
    let name = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), "\\PC{0,6}"];
    let share = prop_oneof![Just(1.0), 0.0..=1.0];
    (name, "\\PC{0,8}", 1..5usize, vec(0..4usize, 0..3), vec(cache, 0..3), share).prop_map(
        |(host, processor, cores, allowed, caches, share)| {
            let binding = serde_json::json!({
                "host": host, "processor": processor, "cores": cores, "allowed": allowed, "caches": caches, "processor_share": share
            });
            serde_json::from_value(binding).expect("a binding")
        },
    )
}

fn limit() -> impl Strategy<Value = SizeLimit> {
    prop_oneof![any::<u32>().prop_map(|bytes| SizeLimit::UpTo(bytes.into())), Just(SizeLimit::AboveAll), Just(SizeLimit::NotFound)]
}

fn launch() -> impl Strategy<Value = LaunchMeasurements> {
    let thresholds = (one(), limit(), limit(), limit()).prop_map(|(class, eager, unattended, detached)| {
        BenchRecord::Thresholds(class, ProtocolThresholds { eager, unattended, detached })
    });
    let used =
        ("\\PC{0,4}", 0.0..=1.0f64, 0.0..=1.0f64).prop_map(|(host, others, stolen)| BenchRecord::HostUse(HostUse { host, others, stolen }));
    (option::of("\\PC{0,9}"), vec(binding(), 1..4), vec(thresholds, 0..3), vec(curve(), 0..9), vec(used, 0..2)).prop_map(
        |(library, places, thresholds, curves, used)| {
            let mut launch = LaunchMeasurements::default();
            launch.add_record(BenchRecord::Hello { library, places });
            thresholds.into_iter().chain(curves.into_iter().flatten()).chain(used).for_each(|record| launch.add_record(record));
            launch
        },
    )
}

fn assert_read_back(launches: &[LaunchMeasurements]) -> Result<Machine, TestCaseError> {
    let machine = assemble(launches, MachineMetadata { name: "any".into(), ..MachineMetadata::default() }).expect("something was measured");
    let text = machine.to_text();
    let read = Machine::parse(&text, Path::new("m.toml")).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    prop_assert_eq!(&read, &machine);
    Ok(machine)
}

proptest! {
    #[test]
    fn whatever_was_measured_is_read_back(launches in vec(launch(), 1..4)) {
        let machine = assert_read_back(&launches)?;
        for network in machine.widened().networks.values() {
            for pieces in network.messages.values().map(|timing| &timing.pieces) {
                let [low, middle, high] = pieces.at(pieces.from_bytes());
                prop_assert!(low <= middle && middle <= high, "{} {} {}", low, middle, high);
            }
        }
    }
}

#[test]
fn no_share_is_above_one() {
    let sample = |share: f64| {
        let quantity = BenchQuantity::Overlap { class: sintonia_machine::PairClass::SameNode };
        BenchRecord::Sample(BenchSample::from_values(quantity, 4096, &[share; 7]).expect("finite values"))
    };
    let message = BenchQuantity::Message { class: sintonia_machine::PairClass::SameNode, what: sintonia_machine::MessageMetric::Send };
    let launches = [0.0, 0.0, 1.0].map(|share| {
        let mut launch = LaunchMeasurements::default();
        launch.add_record(BenchRecord::Hello { library: None, places: vec![ProcessBinding::current()] });
        launch.add_record(sample(share));
        launch.add_record(BenchRecord::Sample(BenchSample::from_values(message, 8, &[1e-6]).expect("finite values")));
        launch
    });
    let machine = assert_read_back(&launches).expect("a file that is read");
    let shares: Vec<f64> = machine.networks.values().flat_map(|network| &network.overlap).map(|point| point.share.high()).collect();
    assert_eq!(shares, [1.0]);
}
