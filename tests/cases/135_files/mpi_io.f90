! Writes a file through each of the Fortran interfaces of MPI-IO; their names end with blanks.
module interfaces
contains
  subroutine with_f08(name)
    use mpi_f08
    character(len=*), intent(in) :: name
    type(MPI_File) :: file
    integer :: values(50)
    values = 1
    call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
    call MPI_File_write(file, values, 50, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_close(file)
  end subroutine

  subroutine with_mpi(name)
    use mpi
    character(len=*), intent(in) :: name
    integer :: file, error, values(30)
    values = 2
    call MPI_FILE_OPEN(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
    call MPI_FILE_WRITE(file, values, 30, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call MPI_FILE_CLOSE(file, error)
  end subroutine
end module

program main
  use mpi_f08
  use interfaces
  integer :: rank
  character(len=40) :: name
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  write (name, '(a,i0)') 'f08.', rank
  call with_f08(name)
  write (name, '(a,i0)') 'mpif.', rank
  call with_mpi(name)
  call MPI_Finalize()
end program
