//! The definitions that records refer to.

use crate::buffer::BufferReader;
use crate::code::{
    Base, CartPeriodicity, CommFlags, GroupFlags, GroupType, InterruptGeneratorMode, IoAccessMode, IoHandleFlags, IoParadigmClass,
    IoParadigmFlags, IoParadigmProperty, IoStatusFlags, LocationGroupType, LocationType, MetricMode, MetricOccurrence, MetricScope,
    MetricType, Paradigm, ParadigmClass, ParadigmProperty, ParameterType, RecorderKind, RegionFlags, RegionRole, RmaWinFlags,
    SystemTreeDomain, ValueType,
};
use crate::field::{Codec, Field, List, ShortList, records};
use crate::id_mappings::IdMappings;
use crate::reference::{
    AttributeRef, CallingContextRef, CallpathRef, CallsiteRef, CartDimensionRef, CartTopologyRef, CommRef, GroupRef, InterruptGeneratorRef,
    IoFileRef, IoHandleRef, IoParadigmRef, LocationGroupRef, LocationRef, MetricMemberRef, MetricRef, ParameterRef, RegionRef, RmaWinRef,
    SourceCodeLocationRef, StringRef, SystemTreeNodeRef,
};
use crate::value::{StringThenValue, Value};

records! {
    /// A global definition.
    pub enum Definition {
        /// The clock of all timestamps.
        5 => ClockProperties {
            timer_resolution: u64 => "Ticks per second.",
            global_offset: u64 => "A timestamp not after any other.",
            trace_length: u64 => "Ticks from there to the last timestamp.",
            realtime_timestamp: u64 = u64::MAX => "The offset in nanoseconds since 1970; `u64::MAX` if unknown.",
        };
        /// A programming model that the trace uses.
        6 => Paradigm { paradigm: Paradigm => "Which one.", name: StringRef => "Its name.", paradigm_class: ParadigmClass => "Its class." };
        /// A property of a programming model.
        7 => ParadigmProperty {
            paradigm: Paradigm => "The programming model.",
            property: ParadigmProperty => "The property.",
            value: Value => "Its value.",
        };
        /// An I/O paradigm.
        8 => IoParadigm {
            reference: IoParadigmRef => "Its reference.",
            identification: StringRef => "Its identification, such as `POSIX` or `MPI-IO`.",
            name: StringRef => "Its name.",
            io_paradigm_class: IoParadigmClass => "Its class.",
            flags: IoParadigmFlags => "Its flags.",
            properties: Vec<IoParadigmPropertyValue> as ShortList => "Its properties.",
        };
        /// A string.
        10 => String { reference: StringRef => "Its reference.", string: String => "The text." };
        /// An attribute of events.
        11 => Attribute {
            reference: AttributeRef => "Its reference.",
            name: StringRef => "Its name.",
            value_type: ValueType => "Type of its values.",
            description: StringRef = StringRef::UNDEFINED => "What it is.",
        };
        /// A node of the system tree.
        12 => SystemTreeNode {
            reference: SystemTreeNodeRef => "Its reference.",
            name: StringRef => "Its name.",
            class_name: StringRef => "Its class, such as `node`.",
            parent: SystemTreeNodeRef => "Its parent.",
        };
        /// A group of locations: a process or an accelerator.
        13 => LocationGroup {
            reference: LocationGroupRef => "Its reference.",
            name: StringRef => "Its name.",
            location_group_type: LocationGroupType => "Its type.",
            system_tree_parent: SystemTreeNodeRef => "Where it is.",
            creating_location_group: LocationGroupRef = LocationGroupRef::UNDEFINED => "Which one created it, such as the process of an accelerator.",
        };
        /// A location: a thread, an accelerator stream or a source of metrics.
        14 => Location {
            reference: LocationRef => "Its reference.",
            name: StringRef => "Its name.",
            location_type: LocationType => "Its type.",
            number_of_events: u64 => "Number of its events.",
            location_group: LocationGroupRef => "Its group.",
        };
        /// A region of the program.
        15 => Region {
            reference: RegionRef => "Its reference.",
            name: StringRef => "Its name.",
            description: StringRef => "What it is.",
            region_type: u8 => "Its type before OTF2 1.1.",
            source_file: StringRef => "Its source file.",
            begin_line: u32 => "Its first line.",
            end_line: u32 => "Its last line.",
            canonical_name: StringRef = StringRef::UNDEFINED => "Its mangled name.",
            region_role: RegionRole = RegionRole::UNKNOWN => "Its role.",
            paradigm: Paradigm = Paradigm::UNKNOWN => "Its programming model.",
            flags: RegionFlags = RegionFlags::NONE => "Its flags.",
        };
        /// A call site (deprecated in OTF2).
        16 => Callsite {
            reference: CallsiteRef => "Its reference.",
            source_file: StringRef => "Its source file.",
            line: u32 => "Its line.",
            entered_region: RegionRef => "The called region.",
            left_region: RegionRef => "The calling region.",
        };
        /// A call path (deprecated in OTF2).
        17 => Callpath { reference: CallpathRef => "Its reference.", parent: CallpathRef => "Its parent.", region: RegionRef => "The region." };
        /// A group of locations, regions, metrics or ranks.
        18 => Group(Group);
        /// A member of metric classes.
        19 => MetricMember {
            reference: MetricMemberRef => "Its reference.",
            name: StringRef => "Its name.",
            description: StringRef => "What it is.",
            metric_type: MetricType => "Its source.",
            metric_mode: MetricMode => "What a value means.",
            value_type: ValueType => "Type of its values.",
            base: Base => "Base of the factor.",
            exponent: i64 => "Exponent of the factor.",
            unit: StringRef => "Its unit.",
        };
        /// Metrics that are recorded together.
        20 => MetricClass {
            reference: MetricRef => "Its reference.",
            members: Vec<MetricMemberRef> as ShortList => "Its members.",
            occurrence: MetricOccurrence => "When they are recorded.",
            recorder_kind: RecorderKind = RecorderKind::UNKNOWN => "What records them.",
        };
        /// A metric class recorded by a location for something else.
        21 => MetricInstance {
            reference: MetricRef => "Its reference.",
            metric_class: MetricRef => "Its class.",
            recorder: LocationRef => "The location that records it.",
            metric_scope: MetricScope => "What kind of thing it is about.",
            scope: u64 => "What it is about.",
        };
        /// A communicator.
        22 => Comm {
            reference: CommRef => "Its reference.",
            name: StringRef => "Its name.",
            group: GroupRef => "Its members.",
            parent: CommRef => "The communicator it was created from.",
            flags: CommFlags = CommFlags::NONE => "Its flags.",
        };
        /// A parameter of regions.
        23 => Parameter {
            reference: ParameterRef => "Its reference.",
            name: StringRef => "Its name.",
            parameter_type: ParameterType => "Type of its values.",
        };
        /// A window of one-sided communication.
        24 => RmaWin {
            reference: RmaWinRef => "Its reference.",
            name: StringRef => "Its name.",
            comm: CommRef => "Its communicator.",
            flags: RmaWinFlags = RmaWinFlags::NONE => "Its flags.",
        };
        /// A location that records a metric class.
        25 => MetricClassRecorder { metric: MetricRef => "The metric class.", recorder: LocationRef => "The location." };
        /// A property of a node of the system tree.
        26 => SystemTreeNodeProperty {
            system_tree_node: SystemTreeNodeRef => "The node.",
            name: StringRef => "Name of the property.",
            value: Value as StringThenValue => "Its value.",
        };
        /// A domain that a node of the system tree is.
        27 => SystemTreeNodeDomain { system_tree_node: SystemTreeNodeRef => "The node.", domain: SystemTreeDomain => "The domain." };
        /// A property of a location group.
        28 => LocationGroupProperty {
            location_group: LocationGroupRef => "The location group.",
            name: StringRef => "Name of the property.",
            value: Value as StringThenValue => "Its value.",
        };
        /// A property of a location.
        29 => LocationProperty {
            location: LocationRef => "The location.",
            name: StringRef => "Name of the property.",
            value: Value as StringThenValue => "Its value.",
        };
        /// A dimension of Cartesian topologies.
        30 => CartDimension {
            reference: CartDimensionRef => "Its reference.",
            name: StringRef => "Its name.",
            size: u32 => "Its size.",
            periodicity: CartPeriodicity => "Whether it is periodic.",
        };
        /// A Cartesian topology.
        31 => CartTopology {
            reference: CartTopologyRef => "Its reference.",
            name: StringRef => "Its name.",
            communicator: CommRef => "Its communicator.",
            dimensions: Vec<CartDimensionRef> as ShortList => "Its dimensions.",
        };
        /// Where a rank is in a Cartesian topology.
        32 => CartCoordinate {
            cart_topology: CartTopologyRef => "The topology.",
            rank: u32 => "The rank.",
            coordinates: Vec<u32> as ShortList => "Its coordinates.",
        };
        /// A source code location.
        33 => SourceCodeLocation {
            reference: SourceCodeLocationRef => "Its reference.",
            file: StringRef => "Its file.",
            line: u32 => "Its line.",
        };
        /// A calling context.
        34 => CallingContext {
            reference: CallingContextRef => "Its reference.",
            region: RegionRef => "The called region.",
            source_code_location: SourceCodeLocationRef => "Where in the region.",
            parent: CallingContextRef => "The calling context around it.",
        };
        /// A property of a calling context.
        35 => CallingContextProperty {
            calling_context: CallingContextRef => "The calling context.",
            name: StringRef => "Name of the property.",
            value: Value => "Its value.",
        };
        /// A source of interrupts.
        36 => InterruptGenerator {
            reference: InterruptGeneratorRef => "Its reference.",
            name: StringRef => "Its name.",
            mode: InterruptGeneratorMode => "What causes its interrupts.",
            base: Base => "Base of the period's factor.",
            exponent: i64 => "Exponent of the period's factor.",
            period: u64 => "Its period.",
        };
        /// A property of a file.
        37 => IoFileProperty { io_file: IoFileRef => "The file.", name: StringRef => "Name of the property.", value: Value => "Its value." };
        /// A regular file.
        38 => IoRegularFile {
            reference: IoFileRef => "Its reference.",
            name: StringRef => "Its name.",
            scope: SystemTreeNodeRef => "Where this name is valid.",
        };
        /// A directory.
        39 => IoDirectory {
            reference: IoFileRef => "Its reference.",
            name: StringRef => "Its name.",
            scope: SystemTreeNodeRef => "Where this name is valid.",
        };
        /// An open file.
        40 => IoHandle {
            reference: IoHandleRef => "Its reference.",
            name: StringRef => "Its name.",
            file: IoFileRef => "The file.",
            io_paradigm: IoParadigmRef => "The I/O paradigm.",
            flags: IoHandleFlags => "Its flags.",
            comm: CommRef => "The communicator that opened it.",
            parent: IoHandleRef = IoHandleRef::UNDEFINED => "The open file that it is based on.",
        };
        /// The state of a file that was open from the beginning.
        41 => IoPreCreatedHandleState {
            io_handle: IoHandleRef => "The open file.",
            mode: IoAccessMode => "How it may be accessed.",
            status_flags: IoStatusFlags => "Its status.",
        };
        /// A parameter in a call path (deprecated in OTF2).
        42 => CallpathParameter {
            callpath: CallpathRef => "The call path.",
            parameter: ParameterRef => "The parameter.",
            value: Value => "Its value.",
        };
        /// An intercommunicator.
        43 => InterComm {
            reference: CommRef => "Its reference.",
            name: StringRef => "Its name.",
            group_a: GroupRef => "Members of one group.",
            group_b: GroupRef => "Members of the other group.",
            common_communicator: CommRef => "The communicator it was created from.",
            flags: CommFlags = CommFlags::NONE => "Its flags.",
        };
    }
}

/// A group of locations, regions, metrics or ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its reference.
    pub reference: GroupRef,
    /// Its name.
    pub name: StringRef,
    /// Its type.
    pub group_type: GroupType,
    /// The programming model that uses it.
    pub paradigm: Paradigm,
    /// Its flags.
    pub flags: GroupFlags,
    /// Its members: references, or indices into the group of type `COMM_LOCATIONS` of the same paradigm.
    pub members: Vec<u64>,
}

/// The types before OTF2 1.2, when groups of communicators were of MPI only.
const OLD_GROUP_TYPES: [GroupType; 7] = [
    GroupType::UNKNOWN,
    GroupType::LOCATIONS,
    GroupType::REGIONS,
    GroupType::METRIC,
    GroupType::COMM_GROUP,
    GroupType::COMM_SELF,
    GroupType::COMM_LOCATIONS,
];

impl Group {
    /// The type for readers before OTF2 1.2; unknown for groups of other programming models.
    fn old_type(&self) -> u8 {
        let is_known = self.paradigm == Paradigm::MPI;
        let number = OLD_GROUP_TYPES.iter().position(|old| *old == self.group_type).filter(|number| is_known || *number < 4);
        number.unwrap_or(0) as u8
    }
}

/// The type stands twice, because it once had other numbers.
impl Field for Group {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Group> {
        let (reference, name) = (GroupRef::read(content, ids)?, StringRef::read(content, ids)?);
        let old_type = OLD_GROUP_TYPES.get(usize::from(content.u8()?)).copied().unwrap_or(GroupType::UNKNOWN);
        let members = <List as Codec<Vec<u64>>>::read(content, ids)?;
        Some(Group {
            reference,
            name,
            group_type: GroupType::read(content, ids).unwrap_or(old_type),
            paradigm: Paradigm::read(content, ids).unwrap_or(Paradigm::MPI),
            flags: GroupFlags::read(content, ids).unwrap_or_default(),
            members,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.reference.write(out);
        self.name.write(out);
        out.push(self.old_type());
        <List as Codec<Vec<u64>>>::write(&self.members, out);
        self.group_type.write(out);
        self.paradigm.write(out);
        self.flags.write(out);
    }
}

/// A property of an I/O paradigm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IoParadigmPropertyValue {
    /// Which one.
    pub property: IoParadigmProperty,
    /// Its value.
    pub value: Value,
}

impl Field for IoParadigmPropertyValue {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<IoParadigmPropertyValue> {
        Some(IoParadigmPropertyValue { property: IoParadigmProperty::read(content, ids)?, value: Value::read(content, ids)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.property.write(out);
        self.value.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Endianness;

    fn read_again(definition: &Definition) -> Option<Definition> {
        let mut bytes = Vec::new();
        definition.encode(&mut bytes);
        assert_eq!(usize::from(bytes[1]), bytes.len() - 2);
        let mut content = BufferReader::new(&bytes[2..], Endianness::Little);
        Definition::decode(bytes[0], &mut content, &IdMappings::default())
    }

    #[test]
    fn definitions_survive_being_written_and_read() {
        let (name, value) = (StringRef(4), Value::Double(1.5));
        let group = |flags| {
            Definition::Group(Group {
                reference: GroupRef(1),
                name,
                group_type: GroupType::COMM_GROUP,
                paradigm: Paradigm::SHMEM,
                flags,
                members: vec![0, 300],
            })
        };
        let all = [
            Definition::ClockProperties { timer_resolution: 10, global_offset: 5, trace_length: 9, realtime_timestamp: u64::MAX },
            Definition::IoParadigm {
                reference: IoParadigmRef(0),
                identification: name,
                name,
                io_paradigm_class: IoParadigmClass::PARALLEL,
                flags: IoParadigmFlags::OS,
                properties: vec![IoParadigmPropertyValue { property: IoParadigmProperty::VERSION, value: Value::String(name) }],
            },
            Definition::String { reference: name, string: "Größe".into() },
            group(GroupFlags::NONE),
            group(GroupFlags::GLOBAL_MEMBERS),
            Definition::MetricMember {
                reference: MetricMemberRef(0),
                name,
                description: name,
                metric_type: MetricType::PAPI,
                metric_mode: MetricMode::ACCUMULATED_START,
                value_type: ValueType::UINT64,
                base: Base::DECIMAL,
                exponent: -9,
                unit: name,
            },
            Definition::LocationProperty { location: LocationRef(1 << 32), name, value },
            Definition::LocationProperty { location: LocationRef(2), name, value: Value::String(StringRef(8)) },
            Definition::CallingContextProperty { calling_context: CallingContextRef(2), name, value: Value::Int16(-2) },
            Definition::CartCoordinate { cart_topology: CartTopologyRef(0), rank: 3, coordinates: vec![0, 1, 70_000] },
            Definition::Unknown { record_type: 99, content: vec![1, 2, 3] },
        ];
        for definition in all {
            assert_eq!(read_again(&definition).as_ref(), Some(&definition));
        }
    }

    #[test]
    fn fields_that_old_versions_lack_have_defaults() {
        let mut content = BufferReader::new(&[0, 1, 1, 1, 2, 255], Endianness::Little);
        let comm = Definition::decode(22, &mut content, &IdMappings::default());
        let expected = Definition::Comm {
            reference: CommRef(0),
            name: StringRef(1),
            group: GroupRef(2),
            parent: CommRef::UNDEFINED,
            flags: CommFlags::NONE,
        };
        assert_eq!(comm, Some(expected));
        let mut text = BufferReader::new(&[0, 1, 1, 1, 2], Endianness::Little);
        let property = Definition::decode(26, &mut text, &IdMappings::default());
        let value = Value::String(StringRef(2));
        assert_eq!(
            property,
            Some(Definition::SystemTreeNodeProperty { system_tree_node: SystemTreeNodeRef(0), name: StringRef(1), value })
        );
    }
}
