import { Server } from './server';

/** Starts the server for all tests; the function it answers stops it. */
export default async function globalSetup(): Promise<() => Promise<void>> {
  const server = await Server.create();
  process.env.FLEETHOLD_E2E = JSON.stringify(server.info);
  return () => server.stop();
}
