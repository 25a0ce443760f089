//! Sizes of MPI datatypes.

/// The size of a predefined datatype.
pub(super) fn datatype_size(name: &str) -> Option<i64> {
    Some(match name {
        "MPI_CHAR" | "MPI_SIGNED_CHAR" | "MPI_UNSIGNED_CHAR" | "MPI_BYTE" | "MPI_PACKED" | "MPI_INT8_T" | "MPI_UINT8_T" | "MPI_C_BOOL"
        | "MPI_CXX_BOOL" => 1,
        "MPI_SHORT" | "MPI_UNSIGNED_SHORT" | "MPI_INT16_T" | "MPI_UINT16_T" => 2,
        "MPI_INT" | "MPI_UNSIGNED" | "MPI_FLOAT" | "MPI_WCHAR" | "MPI_INT32_T" | "MPI_UINT32_T" => 4,
        "MPI_LONG"
        | "MPI_UNSIGNED_LONG"
        | "MPI_LONG_LONG"
        | "MPI_LONG_LONG_INT"
        | "MPI_UNSIGNED_LONG_LONG"
        | "MPI_DOUBLE"
        | "MPI_INT64_T"
        | "MPI_UINT64_T" => 8,
        "MPI_AINT" | "MPI_OFFSET" | "MPI_COUNT" | "MPI_2INT" | "MPI_FLOAT_INT" | "MPI_C_COMPLEX" | "MPI_C_FLOAT_COMPLEX" => 8,
        "MPI_LONG_DOUBLE" | "MPI_C_DOUBLE_COMPLEX" => 16,
        "MPI_SHORT_INT" => 6,
        "MPI_DOUBLE_INT" | "MPI_LONG_INT" => 12,
        "MPI_LONG_DOUBLE_INT" => 20,
        _ => return None,
    })
}
