! CHARACTER arguments with use mpi: names, info, files; the compiler passes their lengths behind the program's back.
! The record: File_open, File_write_at and File_close once per rank, one Comm_dup.
! ranks: 2
program characters
  use mpi
  implicit none
  integer :: ierr, me, n, info, fh, comm, val, status(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: offs
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=MPI_MAX_OBJECT_NAME) :: label
  character(len=20) :: text
  character(len=MPI_MAX_ERROR_STRING) :: messag
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Get_processor_name(name, n, ierr)
  if (n < 1 .or. name(n:n) == ' ') stop 1
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr) ! site:dup
  call MPI_Comm_set_name(comm, 'a copy of the world  ', ierr)
  call MPI_Comm_get_name(comm, label, n, ierr)
  if (me == 0) print *, label(1:n), n
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, 'colour', 'green', ierr)
  call MPI_Info_get(info, 'colour', 20, text, flag, ierr)
  if (me == 0) print *, text, flag
  call MPI_Info_get(info, 'shape', 20, text, flag, ierr)
  if (me == 0) print *, flag
  call MPI_File_open(comm, 'f90_103.data  ', MPI_MODE_CREATE + MPI_MODE_RDWR, info, fh, ierr) ! site:open
  if (ierr /= MPI_SUCCESS) stop 2
  offs = 4 * me
  val = me + 50
  call MPI_File_write_at(fh, offs, val, 1, MPI_INTEGER, status, ierr) ! site:write_at
  val = 0
  call MPI_File_read_at(fh, offs, val, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  if (val /= me + 50) stop 3
  call MPI_File_close(fh, ierr)
  call MPI_Barrier(comm, ierr)
  if (me == 0) call MPI_File_delete('f90_103.data', MPI_INFO_NULL, ierr)
  call MPI_Info_free(info, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Error_string(MPI_ERR_RANK, messag, n, ierr)
  if (me == 0) print *, messag(1:n)
  call MPI_Finalize(ierr)
end program characters
