// Nearest centre of each point, in rounds of points: two queues that should keep the GPU busy.
#include <cfloat>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

namespace
{
	const int Centres = 256;
	const int PointsPerRound = 1 << 20;
	const int Rounds = 144;
	const int RoundsKept = 24;
	const int Queues = 4;

	struct Point { float X, Y; };

	__constant__ Point DeviceCentre[Centres];
	Point HostCentre[Centres];

	void Ensure(cudaError_t Error, const std::string &What)
	{
		if (Error == cudaSuccess)
			return;
		fprintf(stderr, "%s: %s\n", What.c_str(), cudaGetErrorString(Error));
		exit(30);
	}

	__host__ __device__ inline int Nearest(Point P, const Point *Centre)
	{
		int Best = -1;
		float BestDistance = FLT_MAX;
		for (int i = 0; i < Centres; ++i)
		{
			float DX = P.X - Centre[i].X, DY = P.Y - Centre[i].Y;
			float Distance = fmaf(DX, DX, DY * DY);
			if (Distance < BestDistance)
			{
				BestDistance = Distance;
				Best = i;
			}
		}
		return Best;
	}

	__global__ void FindNearest(const Point *Points, int *Found)
	{
		int i = blockIdx.x * blockDim.x + threadIdx.x;
		Found[i] = Nearest(Points[i], DeviceCentre);
	}

	struct Queue
	{
		cudaStream_t Stream;
		Point *Points;
		int *Found;

		void Do(const Point *From, int *To)
		{
#ifdef WRONG
			Ensure(cudaMemcpy(Points, From, PointsPerRound * sizeof(Point), cudaMemcpyHostToDevice), "copy in");
#else
			Ensure(cudaMemcpyAsync(Points, From, PointsPerRound * sizeof(Point), cudaMemcpyHostToDevice, Stream), "copy in");
#endif
			FindNearest<<<PointsPerRound / 256, 256, 0, Stream>>>(Points, Found);
			Ensure(cudaGetLastError(), "launch");
			Ensure(cudaMemcpyAsync(To, Found, PointsPerRound * sizeof(int), cudaMemcpyDeviceToHost, Stream), "copy out");
		}
	};
}

int main()
{
	Point *Points;
	int *Found;
	Queue Q[Queues];
	Ensure(cudaMallocHost(&Points, sizeof(Point) * RoundsKept * PointsPerRound), "points");
	Ensure(cudaMallocHost(&Found, sizeof(int) * RoundsKept * PointsPerRound), "answers");
	for (int i = 0; i < RoundsKept * PointsPerRound; ++i)
		Points[i] = Point{float(i % 1013), float(i % 2029)};
	for (int i = 0; i < Centres; ++i)
		HostCentre[i] = Point{float(i * 37 % 1013), float(i * 91 % 2029)};
	Ensure(cudaMemcpyToSymbol(DeviceCentre, HostCentre, sizeof HostCentre), "centres");
	for (Queue &One : Q)
	{
		Ensure(cudaStreamCreate(&One.Stream), "stream");
		Ensure(cudaMalloc(&One.Points, sizeof(Point) * PointsPerRound), "points");
		Ensure(cudaMalloc(&One.Found, sizeof(int) * PointsPerRound), "answers");
		One.Do(Points, Found);
		Ensure(cudaDeviceSynchronize(), "warm-up");
	}

	timespec Start, Stop;
	nvtxRangePushA("work");
	clock_gettime(CLOCK_MONOTONIC, &Start);
	for (int r = 0; r < Rounds; ++r)
		Q[r % Queues].Do(Points + r % RoundsKept * PointsPerRound, Found + r % RoundsKept * PointsPerRound);
	for (Queue &One : Q)
		Ensure(cudaStreamSynchronize(One.Stream), "finish");
	clock_gettime(CLOCK_MONOTONIC, &Stop);
	nvtxRangePop();

	for (int i = 0; i < RoundsKept * PointsPerRound; i += 997)
		if (Found[i] != Nearest(Points[i], HostCentre))
		{
			printf("point %d went to %d\n", i, Found[i]);
			return 1;
		}
	printf("%d rounds of points\n", Rounds);
	printf("time_ms=%.3f\n", (Stop.tv_sec - Start.tv_sec) * 1e3 + (Stop.tv_nsec - Start.tv_nsec) / 1e6);
	return 0;
}
