! Fortran: unformatted stream output of 800,000 bytes, read again.
program records
    use mpi
    implicit none
    integer :: rank, error
    real(8) :: values(1000), sums
    integer :: i
    character(len=20) :: name
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    write (name, '(a,i0)') 'fortran.', rank
    values = 1.5d0
    open (10, file=name, form='unformatted', access='stream', status='replace')
    do i = 1, 100
        write (10) values
    end do
    rewind (10)
    sums = 0
    do i = 1, 100
        read (10) values
        sums = sums + sum(values)
    end do
    close (10)
    if (sums /= 150000d0) stop 1
    call MPI_Finalize(error)
end program
