! A loop whose iterations differ, with a schedule by which one thread gets the long ones, and a critical section. Prints a ledger.
program loops
  use mpi
  use omp_lib
  implicit none
  real(8) :: useful(0:1), longest, total, begin
  integer :: round, i, rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  longest = 0
  total = 0
  do round = 1, 10
    useful = 0
    !$omp parallel do num_threads(2) schedule(static) private(begin)
    do i = 1, 8
      begin = omp_get_wtime()
      do while (omp_get_wtime() - begin < merge(0.001d0, 0.004d0, i <= 4))
      end do
      useful(omp_get_thread_num()) = useful(omp_get_thread_num()) + omp_get_wtime() - begin
    end do
    !$omp end parallel do
    longest = longest + maxval(useful)
    total = total + sum(useful)
  end do
  print '(A,I0,2(1X,F12.9))', 'loop ', rank, total, longest
  call MPI_Finalize(error)
end program
