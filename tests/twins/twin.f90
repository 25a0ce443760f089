! What all Fortran programs of this folder share: start, work, end.
module twin
  use mpi
  use iso_c_binding
  implicit none
  integer :: rank, nranks, ierr
  logical :: fixed
  double precision :: start_time
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
contains
  ! Stands for a computation of so many milliseconds; needs no processor.
  subroutine work(ms)
    double precision, intent(in) :: ms
    integer(c_int) :: status
    if (ms > 0) status = usleep(int(ms * 1000, c_int))
  end subroutine

  subroutine start()
    character(len=16) :: argument
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    call get_command_argument(1, argument)
    fixed = argument == 'fixed'
    start_time = MPI_Wtime()
  end subroutine

  subroutine finish(name, result)
    character(len=*), intent(in) :: name
    double precision, intent(in) :: result
    double precision :: elapsed, longest
    integer :: length
    elapsed = MPI_Wtime() - start_time
    if (rank == 0) print '(a,f0.3)', name // ' ', result
    call get_environment_variable('TWIN_TIME', length=length)
    if (length > 0) then
      call MPI_Reduce(elapsed, longest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
      if (rank == 0) write (0, '(a,f0.3)') 'TIME ', longest
    end if
    call MPI_Finalize(ierr)
  end subroutine
end module
