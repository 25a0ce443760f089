! A mesh on 4 ranks that is refined around a shock: eight new cells in each step. Each step ends with the time step
! criterion, a minimum over all ranks.
! Problem: the new cells stay on the rank where they arise (rank 2), so its part of advance() grows from step to step.
! fixed: the cells are spread over all ranks again in each step.
program refinement
  use twin
  implicit none
  integer :: step, cells, total
  double precision :: dt, smallest, sum
  call start()
  total = 40
  cells = total / nranks
  sum = 0
  do step = 1, 10
    total = total + 8
    if (fixed) then
      cells = total / nranks
      if (rank < mod(total, nranks)) cells = cells + 1
    else if (rank == 2) then
      cells = cells + 8 ! PROBLEM
    end if
    call advance(cells, dt)
    call MPI_Allreduce(dt, smallest, 1, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, ierr)
    sum = sum + smallest * total
  end do
  call finish('refinement', sum)
contains
  subroutine advance(n, dt)
    integer, intent(in) :: n
    double precision, intent(out) :: dt
    call work(3.0d0 * n)
    dt = 0.01d0 * step
  end subroutine
end program
