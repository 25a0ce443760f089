//! The tree of hosts, with all nodes on this machine.

use std::time::{Duration, Instant};

use sintonia_link::local_addresses;
use sintonia_link::session::SharedSecret;
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::host_daemon;
use sintonia_tune::protocol::{AgentReport, AgentRequest};
use sintonia_tune::tree::{HostListener, HostTree, ParentHost};
use sintonia_tune::tuning_points::TunletRequirements;

fn collector(folder: &tempfile::TempDir, name: &str, secret: &SharedSecret) -> ProcessCollector {
    ProcessCollector::open(&folder.path().join(name), secret).expect("a listener")
}

#[test]
fn hosts_beyond_the_fan_out_are_redirected() {
    if local_addresses().is_empty() {
        sintonia_test_report::skipped("this machine has no address that others could reach");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let secret = SharedSecret::new().expect("randomness");
    let listener = HostListener::bind(&secret, 1).expect("a listener");
    let addresses = listener.addresses();
    let mut root = HostTree::new(collector(&folder, "root", &secret), Some(listener), now_ns());
    let nodes: Vec<_> = ["one", "two", "three"]
        .into_iter()
        .map(|name| {
            let (secret, addresses) = (secret.clone(), addresses.clone());
            let collector = collector(&folder, name, &secret);
            std::thread::spawn(move || {
                let listener = HostListener::bind(&secret, 1).expect("a listener");
                let parent = ParentHost::connect(&addresses, &secret, &listener.hello(name.into())).expect("a host above");
                host_daemon::serve(HostTree::new(collector, Some(listener), parent.begin_ns()), parent);
            })
        })
        .collect();
    root.broadcast(AgentRequest::Bind(vec![TunletRequirements::default()]));
    root.broadcast(AgentRequest::Begin);
    let (since, mut hosts) = (Instant::now(), 0);
    while hosts < 3 {
        assert!(since.elapsed() < Duration::from_secs(20), "{hosts} of 3 hosts have come");
        hosts += root.collect_reports().iter().filter(|report| matches!(report, AgentReport::HostJoined(_))).count();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(root);
    nodes.into_iter().for_each(|node| node.join().expect("ends when the root has"));
}

#[test]
fn a_host_with_another_secret_is_refused() {
    let listener = HostListener::bind(&SharedSecret::new().expect("randomness"), 4).expect("a listener");
    let other = SharedSecret::new().expect("randomness");
    assert!(ParentHost::connect(&listener.addresses(), &other, &listener.hello("one".into())).is_err());
}
