/** The slot of a key in a Redis Cluster: of its hash tag, if it has one. The package brings no types. */
declare module 'cluster-key-slot' {
  export default function slotOf(key: string): number;
}
