// C++ streams: 5 MB in pieces of 100,000 bytes.
#include <fstream>
#include <mpi.h>
#include <vector>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<char> data(100000, 'x');
    std::ofstream file("cxx." + std::to_string(rank));
    for (int i = 0; i < 50; i++) file.write(data.data(), data.size());
    file.close();
    MPI_Finalize();
}
