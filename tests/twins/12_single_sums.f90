! A chemistry code on 2 ranks: in each step the concentrations of 5000 species are summed over all ranks.
! Problem: sum_species() calls MPI_Allreduce once per species, 5000 collectives of 8 bytes instead of one.
! fixed: one MPI_Allreduce of 5000 values.
program single_sums
  use twin
  implicit none
  integer, parameter :: species = 5000
  integer :: step
  double precision :: mine(species), all(species), sum_all
  call start()
  mine = rank + 1
  sum_all = 0
  do step = 1, 20
    call react()
    call sum_species()
    sum_all = sum_all + sum(all)
  end do
  call finish('single_sums', sum_all)
contains
  subroutine react()
    call work(20d0)
    mine = mine + 1
  end subroutine

  subroutine sum_species()
    integer :: s
    if (fixed) then
      call MPI_Allreduce(mine, all, species, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    else
      do s = 1, species
        call MPI_Allreduce(mine(s), all(s), 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr) ! PROBLEM
      end do
    end if
  end subroutine
end program
