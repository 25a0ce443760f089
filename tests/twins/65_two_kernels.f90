! A flow solver on 4 ranks with two kernels in each step, each of which ends with a sum over all ranks.
! Problem: rank 1 has twice as many cells as the others (cells_of), so it computes twice as long in both kernels.
! fixed: all ranks have as many cells.
program two_kernels
  use twin
  implicit none
  integer :: step
  double precision :: momentum, pressure, sum_all
  call start()
  sum_all = 0
  do step = 1, 10
    call momentum_kernel(cells_of(rank), momentum)
    call MPI_Allreduce(MPI_IN_PLACE, momentum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call pressure_kernel(cells_of(rank), pressure)
    call MPI_Allreduce(MPI_IN_PLACE, pressure, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    sum_all = sum_all + momentum + pressure
  end do
  call finish('two_kernels', sum_all)
contains
  integer function cells_of(r)
    integer, intent(in) :: r
    cells_of = 20
    if (r == 1) cells_of = 40 ! PROBLEM
    if (fixed) cells_of = 25
  end function

  subroutine momentum_kernel(cells, total)
    integer, intent(in) :: cells
    double precision, intent(out) :: total
    call work(2.5d0 * cells)
    total = cells
  end subroutine

  subroutine pressure_kernel(cells, total)
    integer, intent(in) :: cells
    double precision, intent(out) :: total
    call work(1.5d0 * cells)
    total = 2 * cells
  end subroutine
end program
