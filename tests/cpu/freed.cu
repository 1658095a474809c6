// A kernel that writes to memory which was given back.

__global__ void set(int *at)
{
    *at = 1;
}

int main()
{
    int *at;
    cudaMalloc(&at, 4);
    cudaFree(at);
    set<<<1, 1>>>(at);
    return cudaDeviceSynchronize() != cudaErrorLaunchFailure;
}
