/* nothing.cu - the kernel that the recorder's own cost is measured with: it does nothing. Its code for
 * each GPU is in the recorder, as compiling it at the end of somebody's program would take too long. */
extern "C" __global__ void pipeline_record_nothing()
{
}
