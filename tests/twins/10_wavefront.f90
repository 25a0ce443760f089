! Sweeps over a plane that is distributed by columns over 4 ranks: each rank needs the right edge of its left neighbour.
! Problem: a rank passes its edge on only when it has swept all its rows (rows_per_block = rows), so in each of the
! sweeps, which end with a convergence test, one rank computes at a time and the others wait in MPI_Recv.
! fixed: the edge is passed on in blocks of an eighth of the rows, so that the ranks compute at the same time.
program wavefront
  use twin
  implicit none
  integer, parameter :: rows = 800
  integer :: iteration, row, rows_per_block
  double precision :: edge(rows), change, largest, sum
  call start()
  rows_per_block = rows ! PROBLEM
  if (fixed) rows_per_block = rows / 8
  sum = 0
  do iteration = 1, 4
    edge = 0
    do row = 1, rows, rows_per_block
      if (rank > 0) call MPI_Recv(edge(row), rows_per_block, MPI_DOUBLE_PRECISION, rank - 1, 1, MPI_COMM_WORLD, &
                                  MPI_STATUS_IGNORE, ierr)
      call sweep(edge(row:row + rows_per_block - 1))
      if (rank < nranks - 1) call MPI_Send(edge(row), rows_per_block, MPI_DOUBLE_PRECISION, rank + 1, 1, &
                                           MPI_COMM_WORLD, ierr)
    end do
    change = maxval(edge)
    call MPI_Allreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    sum = sum + largest
  end do
  call finish('wavefront', sum)
contains
  subroutine sweep(part)
    double precision, intent(inout) :: part(:)
    call work(0.2d0 * size(part))
    part = part + rank + 1
  end subroutine
end program
