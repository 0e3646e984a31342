/** Throws unless large work starts a worker thread and has the right result. */
module.exports = function checkThreads({ ones, setThreads }) {
  const threads = process.getBuiltinModule('node:worker_threads')
  let started = 0
  threads.Worker = class extends threads.Worker {
    constructor(...settings) {
      super(...settings)
      started++
    }
  }
  if (setThreads(2) !== 2) throw new Error('there are no two threads')
  const large = ones([512, 512])
  for (let i = 0; i < 100; i++) {
    if (large.matmul(large).data.some((sum) => sum !== 512)) throw new Error('a product is wrong')
  }
  if (started !== 1) throw new Error(`${started} worker threads were started`)
}
