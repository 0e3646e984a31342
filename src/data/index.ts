// The public names of `wengert/data`, nothing else.
export {
  AsyncDataLoader,
  type CollateOptions,
  DataLoader,
  type DataLoaderOptions,
  type DataLoaderState,
} from './loader.js'
