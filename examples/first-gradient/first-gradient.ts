import { tapeOf, tensor } from 'wengert'

const x = tensor([1, 2, 3], { requiresGrad: true })
const loss = x.square().sum()
console.log(String(tapeOf(loss)))

loss.backward()
console.log(loss.item()) // 14
console.log(x.grad?.toArray()) // [2, 4, 6]
