C Communicators, persistent requests and returned errors with mpif.h.
C The record: world rank 2 sends 4 times to world rank 1 in a communicator whose ranks run backwards.
C ranks: 3
      PROGRAM COMMUNICATORS
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER IERR, ME, MINE, I, V, S, CLASS, COMM, REQ(1), CART, DIMS(1)
      LOGICAL PERIOD(1), WRAP(1)
      INTEGER COORD(1)
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -ME, COMM, IERR) !site:split
      CALL MPI_COMM_RANK(COMM, MINE, IERR)
      V = 0
      IF (MINE .EQ. 0) CALL MPI_SEND_INIT(V, 1, MPI_INTEGER, 1, 3, COMM, REQ(1), IERR)
      IF (MINE .EQ. 1) CALL MPI_RECV_INIT(V, 1, MPI_INTEGER, 0, 3, COMM, REQ(1), IERR)
      IF (MINE .LT. 2) THEN
        DO I = 1, 4
          IF (MINE .EQ. 0) V = I
          IF (I .LT. 3) THEN
            CALL MPI_START(REQ(1), IERR) !site:start
          ELSE
            CALL MPI_STARTALL(1, REQ, IERR) !site:startall
          END IF
          CALL MPI_WAIT(REQ(1), MPI_STATUS_IGNORE, IERR)
          IF (V .NE. I) STOP 1
        END DO
        CALL MPI_REQUEST_FREE(REQ(1), IERR)
      END IF
      CALL MPI_COMM_FREE(COMM, IERR)

      DIMS(1) = 3
      PERIOD(1) = .TRUE.
      CALL MPI_CART_CREATE(MPI_COMM_WORLD, 1, DIMS, PERIOD, .FALSE., CART, IERR)
      WRAP(1) = .FALSE.
      CALL MPI_CART_GET(CART, 1, DIMS, WRAP, COORD, IERR)
      CALL MPI_CART_SHIFT(CART, 0, 1, I, S, IERR)
      IF (ME .EQ. 0) PRINT *, 'cart', WRAP(1), COORD(1), I, S
      CALL MPI_COMM_FREE(CART, IERR)

      CALL MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, IERR)
      CALL MPI_SEND(V, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, IERR)
      CALL MPI_ERROR_CLASS(IERR, CLASS, I)
      IF (ME .EQ. 0) PRINT *, 'error', CLASS .EQ. MPI_ERR_RANK
      CALL MPI_FINALIZE(IERR)
      END
