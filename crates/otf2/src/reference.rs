//! References to definitions.
//!
//! Records refer to definitions by number. Each kind of definition has a type of its own, so that a region cannot be taken for a
//! communicator.

use crate::buffer::BufferReader;
use crate::code::MappingType;
use crate::field::Field;
use crate::id_mappings::IdMappings;

macro_rules! references {
    ($($(#[$doc:meta])* $Name:ident($int:ident $(, $mapping:ident)?);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $Name(pub $int);

            impl $Name {
                /// Refers to nothing.
                pub const UNDEFINED: $Name = $Name($int::MAX);

                /// Whether it refers to a definition.
                pub fn is_defined(self) -> bool {
                    self != $Name::UNDEFINED
                }
            }

            impl From<$int> for $Name {
                fn from(number: $int) -> $Name {
                    $Name(number)
                }
            }

            impl Field for $Name {
                #[inline]
                fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<$Name> {
                    let number = <$int as Field>::read(content, ids)?;
                    Some($Name(references!(@global ids, number $(, $int $mapping)?)))
                }

                #[inline]
                fn write(&self, out: &mut Vec<u8>) {
                    self.0.write(out);
                }
            }
        )*
    };
    (@global $ids:ident, $number:ident) => { $number };
    (@global $ids:ident, $number:ident, u32 $mapping:ident) => { $ids.to_global(MappingType::$mapping.0, $number) };
    (@global $ids:ident, $number:ident, u64 $mapping:ident) => { $ids.to_global_u64(MappingType::$mapping.0, $number) };
}

references! {
    /// A string.
    StringRef(u32, STRING);
    /// An attribute of events.
    AttributeRef(u32, ATTRIBUTE);
    /// A node of the system tree.
    SystemTreeNodeRef(u32);
    /// A group of locations: a process or an accelerator.
    LocationGroupRef(u32);
    /// A location: a thread, an accelerator stream or a source of metrics.
    LocationRef(u64, LOCATION);
    /// A region of the program.
    RegionRef(u32, REGION);
    /// A call site (deprecated in OTF2).
    CallsiteRef(u32);
    /// A call path (deprecated in OTF2).
    CallpathRef(u32);
    /// A group of locations, regions, metrics or ranks.
    GroupRef(u32, GROUP);
    /// A metric: a class or an instance.
    MetricRef(u32, METRIC);
    /// A member of a metric class.
    MetricMemberRef(u32);
    /// A communicator.
    CommRef(u32, COMM);
    /// A parameter of regions.
    ParameterRef(u32, PARAMETER);
    /// A window of one-sided communication.
    RmaWinRef(u32, RMA_WIN);
    /// A dimension of a Cartesian topology.
    CartDimensionRef(u32);
    /// A Cartesian topology.
    CartTopologyRef(u32);
    /// A source code location.
    SourceCodeLocationRef(u32, SOURCE_CODE_LOCATION);
    /// A calling context.
    CallingContextRef(u32, CALLING_CONTEXT);
    /// A source of interrupts.
    InterruptGeneratorRef(u32, INTERRUPT_GENERATOR);
    /// A file or directory.
    IoFileRef(u32, IO_FILE);
    /// An open file.
    IoHandleRef(u32, IO_HANDLE);
    /// An I/O paradigm.
    IoParadigmRef(u8);
}
