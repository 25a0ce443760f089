! Conjugate gradients for the Laplace equation on a square of n x n points, rows dealt out to the processes: two dot products and one
! exchange of border rows in every iteration.
!
!     mpirun -n 4 ./conjugate N [ITERATIONS]
program conjugate
    use mpi
    implicit none
    integer, parameter :: real8 = kind(1.0d0)
    integer :: n, iterations, rows, i, rank, size, above, below, error
    real(real8), allocatable :: x(:, :), r(:, :), d(:, :), a(:, :)
    real(real8) :: alpha, residual, before

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    n = argument(1, 512)
    iterations = argument(2, 100)
    rows = n / size
    if (rank < mod(n, size)) rows = rows + 1
    above = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    below = merge(rank + 1, MPI_PROC_NULL, rank < size - 1)

    ! Columns lie together in memory, so a "row" of the plate is a column here.
    allocate (x(0:n + 1, 0:rows + 1), r(0:n + 1, 0:rows + 1), d(0:n + 1, 0:rows + 1), a(0:n + 1, 0:rows + 1))
    x = 0
    r = 0
    d = 0
    a = 0
    r(1:n, 1:rows) = 1
    d = r
    residual = dot(r, r)
    do i = 1, iterations
        call exchange_borders(d)
        call apply(d, a)
        alpha = residual / dot(d, a)
        x = x + alpha * d
        r = r - alpha * a
        before = residual
        residual = dot(r, r)
        d = r + (residual / before) * d
    end do
    if (rank == 0) print '(a, es12.4)', 'residual: ', sqrt(residual)
    call MPI_Finalize(error)

contains

    integer function argument(place, otherwise)
        integer, intent(in) :: place, otherwise
        character(len=32) :: text
        argument = otherwise
        if (command_argument_count() < place) return
        call get_command_argument(place, text)
        read (text, *) argument
    end function

    subroutine exchange_borders(v)
        real(real8), intent(inout) :: v(0:, 0:)
        call MPI_Sendrecv(v(1, 1), n, MPI_DOUBLE_PRECISION, above, 1, v(1, rows + 1), n, MPI_DOUBLE_PRECISION, below, 1, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        call MPI_Sendrecv(v(1, rows), n, MPI_DOUBLE_PRECISION, below, 2, v(1, 0), n, MPI_DOUBLE_PRECISION, above, 2, &
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end subroutine

    subroutine apply(v, to)
        real(real8), intent(in) :: v(0:, 0:)
        real(real8), intent(inout) :: to(0:, 0:)
        integer :: row
        do row = 1, rows
            to(1:n, row) = 4 * v(1:n, row) - v(0:n - 1, row) - v(2:n + 1, row) - v(1:n, row - 1) - v(1:n, row + 1)
        end do
    end subroutine

    real(real8) function dot(v, w)
        real(real8), intent(in) :: v(0:, 0:), w(0:, 0:)
        real(real8) :: mine
        mine = sum(v(1:n, 1:rows) * w(1:n, 1:rows))
        call MPI_Allreduce(mine, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end function
end program
