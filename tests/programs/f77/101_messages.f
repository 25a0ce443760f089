C Point to point with mpif.h: wildcards, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, LOGICAL flags, 1-based indices.
C The record: rank 1 sends 8 messages to rank 0, tags 1 to 8, of 4 bytes per tag; each is received once.
C ranks: 2
      PROGRAM MESSAGES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER IERR, ME, I, N, DONE, BUF(8), IN(8,8)
      INTEGER STATUS(MPI_STATUS_SIZE), STATS(MPI_STATUS_SIZE,3)
      INTEGER REQ(3), IND(3)
      LOGICAL FLAG
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      IF (ME .EQ. 1) THEN
        DO I = 1, 8
          BUF(1) = 100 + I
          CALL MPI_SEND(BUF, I, MPI_INTEGER, 0, I, MPI_COMM_WORLD, IERR) !site:send
        END DO
      ELSE
        CALL MPI_RECV(BUF, 8, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, STATUS, IERR) !site:recv
        CALL MPI_GET_COUNT(STATUS, MPI_INTEGER, N, IERR)
        PRINT *, 'recv', STATUS(MPI_SOURCE), STATUS(MPI_TAG), N, BUF(1)
        CALL MPI_RECV(BUF, 8, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, IERR) !site:ignore
        PRINT *, 'ignore', BUF(1)

        FLAG = .FALSE.
        DO WHILE (.NOT. FLAG)
          CALL MPI_IPROBE(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, FLAG, STATUS, IERR) !site:iprobe
        END DO
        CALL MPI_IRECV(BUF, 8, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, REQ(1), IERR)
        FLAG = .FALSE.
        DO WHILE (.NOT. FLAG)
          CALL MPI_TEST(REQ(1), FLAG, STATUS, IERR) !site:test
        END DO
        PRINT *, 'test', FLAG, STATUS(MPI_TAG), REQ(1) .EQ. MPI_REQUEST_NULL

        DO I = 1, 3
          CALL MPI_IRECV(IN(1,I), 8, MPI_INTEGER, 1, 3+I, MPI_COMM_WORLD, REQ(I), IERR) !site:irecv
        END DO
        CALL MPI_WAIT(REQ(2), MPI_STATUS_IGNORE, IERR)
        N = 0
        DO WHILE (N .LT. 2)
          CALL MPI_WAITSOME(3, REQ, DONE, IND, STATS, IERR) !site:waitsome
          DO I = 1, DONE
            IF (STATS(MPI_TAG,I) .NE. 3 + IND(I)) STOP 1
          END DO
          N = N + DONE
        END DO
        PRINT *, 'waitsome', IN(1,1), IN(1,2), IN(1,3)

        CALL MPI_IRECV(IN(1,1), 8, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, REQ(1), IERR)
        CALL MPI_IRECV(IN(1,2), 8, MPI_INTEGER, 1, MPI_ANY_TAG, MPI_COMM_WORLD, REQ(2), IERR)
        CALL MPI_WAITALL(2, REQ, MPI_STATUSES_IGNORE, IERR) !site:waitall
        PRINT *, 'waitall', IN(1,1), IN(1,2)
      END IF
      CALL MPI_FINALIZE(IERR)
      END
