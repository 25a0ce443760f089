//! The tree of hosts: nodes on this machine that pass on what they are asked and told.

use std::time::{Duration, Instant};

use sintonia_link::local_addresses;
use sintonia_link::session::Secret;
use sintonia_tune::collector::Collector;
use sintonia_tune::host;
use sintonia_tune::point::Needs;
use sintonia_tune::station::now_ns;
use sintonia_tune::talk::{Ask, Told};
use sintonia_tune::tree::{Door, Tree, Up};

fn collector(folder: &tempfile::TempDir, name: &str, secret: &Secret) -> Collector {
    Collector::open(&folder.path().join(name), secret).expect("a door")
}

#[test]
fn hosts_beyond_the_fan_out_go_to_those_that_stayed() {
    if local_addresses().is_empty() {
        println!("skipped: this machine has no address that others could reach");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let secret = Secret::new().expect("randomness");
    let door = Door::open(&secret, 1).expect("a door");
    let addresses = door.addresses();
    let mut root = Tree::new(collector(&folder, "root", &secret), Some(door), now_ns());
    let nodes: Vec<_> = ["one", "two", "three"]
        .into_iter()
        .map(|name| {
            let (secret, addresses) = (secret.clone(), addresses.clone());
            let collector = collector(&folder, name, &secret);
            std::thread::spawn(move || {
                let door = Door::open(&secret, 1).expect("a door");
                let up = Up::go(&addresses, &secret, &door.card(name.into())).expect("a host above");
                host::serve(Tree::new(collector, Some(door), up.began()), up);
            })
        })
        .collect();
    root.ask(Ask::Needs(vec![Needs::default()]));
    root.ask(Ask::Begin);
    let (since, mut hosts) = (Instant::now(), 0);
    while hosts < 3 {
        assert!(since.elapsed() < Duration::from_secs(20), "{hosts} of 3 hosts have come");
        hosts += root.hear().iter().filter(|told| matches!(told, Told::Host(_))).count();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(root);
    nodes.into_iter().for_each(|node| node.join().expect("ends when the root has"));
}

#[test]
fn a_host_with_another_secret_is_not_let_in() {
    let door = Door::open(&Secret::new().expect("randomness"), 4).expect("a door");
    let other = Secret::new().expect("randomness");
    assert!(Up::go(&door.addresses(), &other, &door.card("one".into())).is_err());
}
