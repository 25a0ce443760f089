! Clean: transforms along the rows, a transpose (MPI_Alltoall of equal blocks), transforms along the columns, on 4 ranks
! with the same work each. No problem worth naming.
program clean_transpose
  use twin
  implicit none
  integer, parameter :: block = 1000
  integer :: step
  double precision, allocatable :: rows(:), columns(:)
  double precision :: total
  call start()
  allocate (rows(block * nranks), columns(block * nranks))
  rows = rank
  do step = 1, 5
    call transform(rows)
    call MPI_Alltoall(rows, block, MPI_DOUBLE_PRECISION, columns, block, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call transform(columns)
    call MPI_Alltoall(columns, block, MPI_DOUBLE_PRECISION, rows, block, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
  end do
  call MPI_Reduce(sum(rows), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  call finish('clean_transpose', total)
contains
  subroutine transform(values)
    double precision, intent(inout) :: values(:)
    call work(140d0)
    values = values + 1
  end subroutine
end program
